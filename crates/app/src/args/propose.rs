//! Who proposes: the arguments of `rooflab run` about language models, programs and people.

use crate::duration;
use model::Seconds;
use std::path::PathBuf;

/// Who proposes candidates, and what they may cost. Without any of this the embedded proposer does, which needs nobody.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Proposers")]
pub struct ProposerArgs {
    /// Who proposes: embedded, or openai:MODEL[@URL], anthropic:MODEL, command:COMMAND, mailbox:DIR, replay:FILE.
    ///
    /// openai speaks the chat completions protocol, which vLLM, llama.cpp, Ollama, LM Studio, Azure and OpenRouter
    /// speak too: openai:qwen2.5-coder@http://localhost:11434. command gets the prompt on its standard input, in an
    /// empty folder, and prints the reply. mailbox writes prompts into a folder and waits for replies there. replay
    /// answers from a campaign's replies.jsonl.
    #[arg(long, value_name = "WHO", conflicts_with = "models")]
    pub proposer: Option<String>,
    /// Several of them: a TOML file with a [[model]] table each.
    ///
    /// ask = "openai:MODEL@URL"; key = "env:NAME" or "command:COMMAND"; price = { input = 3, output = 15 }, a million
    /// tokens; temperature; system, a template; max_output, tokens; limit_seconds. Who is asked next is chosen by what
    /// each has gained for its cost.
    #[arg(long, value_name = "FILE")]
    pub models: Option<PathBuf>,
    /// Where the key is: env:NAME, command:COMMAND or none.
    ///
    /// By default OPENAI_API_KEY and ANTHROPIC_API_KEY for these two services' own addresses, and none elsewhere. A key
    /// is never written down.
    #[arg(long, value_name = "SOURCE", requires = "proposer")]
    pub key: Option<String>,
    /// The model's temperature.
    #[arg(long, value_name = "T", requires = "proposer")]
    pub temperature: Option<f64>,
    /// What a million tokens cost, of the prompt and of the reply, e.g. 3,15 [default: nothing].
    #[arg(long, value_name = "IN,OUT", requires = "proposer")]
    pub price: Option<String>,
    /// Tokens of one reply at most [default: 16384].
    #[arg(long, value_name = "N", requires = "proposer")]
    pub max_output: Option<u64>,
    /// Spend no more money than this, in the unit of the prices. Held before each call, at its worst.
    #[arg(long, value_name = "MONEY")]
    pub max_money: Option<f64>,
    /// Use no more tokens than this.
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Make no more calls than this.
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u32>,
    /// Wait for replies no longer than this in all.
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub max_wait: Option<Seconds>,
    /// Templates of the prompts in place of rooflab's: a folder with system.txt, question.txt, repair.txt, or some.
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// Print the prompt that would be asked next, and stop.
    #[arg(long)]
    pub show_prompt: bool,
    /// Print what the search would cost, and stop. Nobody is asked.
    #[arg(long)]
    pub dry_run: bool,
}
