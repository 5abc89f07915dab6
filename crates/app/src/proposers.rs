//! Who proposes: from arguments to a proposer that is ready, with its record, its caps and someone who listens.
//!
//! Must not ask anyone for anything: that is the campaign's to do.

mod scene;

use crate::args::ProposerArgs;
use crate::interrupt;
use crate::notice::{Notice, Voice};
use crate::outcome::Failure;
use model::Seconds;
use propose::ask::AskError;
use propose::budget::{Estimate, Money, Size, estimate};
use propose::exchange::{Exchange, Outcome};
use propose::roster::Member;
use propose::{Budget, Caps, Price, Progress, Prompt, Record, Roster, Spec, Spent, Templates};
use search::proposers::written::{Listener, Parts, Scene, Seat};
use search::{Context, Embedded, Proposer, Written};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use scene::scene;

/// Name of a campaign's record of replies, in its folder.
const RECORD: &str = "replies.jsonl";
/// How often to say how far a reply is.
const SAY: Duration = Duration::from_secs(1);
/// Proposals that a dry run reckons with where the search has no limit in candidates.
pub const RECKONED: u32 = 100;

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Unusable { what } => Self::usage(what, "`rooflab run --help` says how proposers are named"),
            other => Self::environment(other, "mend it, and go on with --resume"),
        }
    }
}

/// What is to be done with the proposers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Search.
    Search,
    /// Print the prompt.
    ShowPrompt,
    /// Print the cost.
    DryRun,
}

/// Who proposes, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposerPlan {
    /// Whom to ask; nobody for the embedded proposer.
    members: Vec<Member>,
    caps: Caps,
    templates: Option<PathBuf>,
    /// What for.
    pub purpose: Purpose,
    /// The arguments that name all this again, each with a blank before it.
    pub again: String,
}

impl ProposerPlan {
    /// Resolves.
    ///
    /// # Errors
    /// When a proposer, its price or its key makes no sense.
    pub fn new(args: &ProposerArgs) -> Result<Self, Failure> {
        let caps = Caps {
            money: args.max_money.map(Money::of),
            tokens: args.max_tokens,
            calls: args.max_calls,
            time: args.max_wait,
        };
        let purpose = match (args.show_prompt, args.dry_run) {
            (true, _) => Purpose::ShowPrompt,
            (_, true) => Purpose::DryRun,
            _ => Purpose::Search,
        };
        Ok(Self { members: members(args)?, caps, templates: args.templates.clone(), purpose, again: again(args) })
    }

    /// Makes the proposer ready. `folder` is the campaign's own.
    ///
    /// # Errors
    /// When a key, a template, a folder or a record can't be used.
    pub fn open(&self, seed: u64, scene: Scene, folder: &Path, voice: &Voice) -> Result<Box<dyn Proposer>, Failure> {
        if self.members.is_empty() {
            return Ok(Box::new(Embedded::new(seed)));
        }
        let record = self.record(folder)?;
        let spent = record.as_ref().map_or_else(Spent::default, Record::spent);
        let seats = self.members.iter().map(seat).collect::<Result<Vec<Seat>, AskError>>()?;
        let parts = Parts {
            seed,
            scene,
            templates: self.templates()?,
            seats,
            budget: Budget::new(self.caps, spent),
            record,
            listener: Box::new(Teller { voice: voice.clone(), said: None }),
        };
        Ok(Box::new(Written::new(parts)))
    }

    /// Everything is written down but what is read from a record itself.
    fn record(&self, folder: &Path) -> Result<Option<Record>, Failure> {
        if self.members.iter().all(|member| matches!(member.ask, Spec::Replay(_))) {
            return Ok(None);
        }
        std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
        Ok(Some(Record::open(&folder.join(RECORD))?))
    }

    fn templates(&self) -> Result<Templates, AskError> {
        self.templates.as_deref().map_or_else(Templates::shipped, Templates::from_folder)
    }

    /// The prompt that would be asked next, and the bytes of the code that it is about.
    ///
    /// # Errors
    /// When a template can't be read or filled in.
    pub fn prompt(&self, scene: &Scene, context: &Context<'_>, seed: u64) -> Result<(Prompt, usize), Failure> {
        let system = self.members.first().and_then(|member| member.system.as_deref());
        let (prompt, files) =
            search::proposers::written::next_prompt(scene, &self.templates()?, context, seed, system)?;
        Ok((prompt, files.values().map(String::len).sum()))
    }

    /// What so many proposals would come to with each of those that can be asked.
    pub fn estimates(&self, prompt: &Prompt, code: usize, proposals: u32) -> Vec<(String, Estimate)> {
        let of = |member: &Member| {
            let size = Size { prompt: prompt.bytes(), code, max_output: member.max_output() };
            (member.ask.to_string(), estimate(&size, &member.price, proposals))
        };
        self.members.iter().map(of).collect()
    }
}

fn members(args: &ProposerArgs) -> Result<Vec<Member>, Failure> {
    if let Some(file) = &args.models {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("{}: {error}", file.display()), "name a TOML file of models"))?;
        return Ok(text.parse::<Roster>()?.members);
    }
    let Some(who) = args.proposer.as_deref().filter(|who| *who != "embedded") else { return Ok(Vec::new()) };
    let mut member = Member::new(who.parse()?);
    member.key = args.key.as_deref().map(str::parse).transpose()?;
    member.temperature = args.temperature;
    member.max_output = args.max_output;
    member.price = args.price.as_deref().map_or(Ok(Price::default()), price)?;
    Ok(vec![member])
}

/// A resumed campaign has to be told again whom to ask: a ledger is no place for commands and addresses.
fn again(args: &ProposerArgs) -> String {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let given = [
        ("proposer", args.proposer.clone()),
        ("models", path(&args.models)),
        ("key", args.key.clone()),
        ("temperature", args.temperature.map(|n| n.to_string())),
        ("price", args.price.clone()),
        ("max-output", args.max_output.map(|n| n.to_string())),
        ("max-money", args.max_money.map(|n| n.to_string())),
        ("max-tokens", args.max_tokens.map(|n| n.to_string())),
        ("max-calls", args.max_calls.map(|n| n.to_string())),
        ("max-wait", args.max_wait.map(|time| format!("{}s", time.0))),
        ("templates", path(&args.templates)),
    ];
    let words = |(name, value): (&str, Option<String>)| Some(format!(" --{name} {}", quoted(&value?)));
    given.into_iter().filter_map(words).collect()
}

/// As a shell's word.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@,=".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn price(text: &str) -> Result<Price, Failure> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    let both = text.split_once(',').and_then(|(input, output)| Some((number(input)?, number(output)?)));
    let (input, output) = both
        .ok_or_else(|| Failure::usage(format!("`{text}` is no price"), "two numbers, a million tokens each: 3,15"))?;
    Ok(Price { input, output })
}

fn seat(member: &Member) -> Result<Seat, AskError> {
    Ok(Seat {
        respondent: member.open()?,
        system: member.system.clone(),
        price: member.price,
        max_output: member.max_output(),
        limit: member.limit(),
    })
}

/// Tells the voice, now and then, and stops a call when someone asked to.
struct Teller {
    voice: Voice,
    said: Option<Instant>,
}

impl Listener for Teller {
    fn progress(&mut self, respondent: &str, progress: Progress) -> ControlFlow<()> {
        if interrupt::asked() {
            return ControlFlow::Break(());
        }
        if self.said.is_none_or(|said| said.elapsed() >= SAY) {
            self.said = Some(Instant::now());
            let waiting = progress.waiting.map(|left| Seconds(left.as_secs_f64()));
            let Progress { bytes, thinking, .. } = progress;
            self.voice.say(&Notice::Asking { respondent, bytes, thinking, waiting });
        }
        ControlFlow::Continue(())
    }

    fn heard(&mut self, respondent: &str, exchange: &Exchange) {
        let what = match &exchange.outcome {
            Outcome::Candidate(_) => return,
            Outcome::Fault(fault) => format!("no candidate, {}", fault.kind()),
            Outcome::Failed(error) => error.to_string(),
            Outcome::Exhausted(exhausted) => exhausted.to_string(),
        };
        self.voice.say(&Notice::Heard { respondent, what: &what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Verb};
    use clap::Parser;

    fn plan(rest: &str) -> Result<ProposerPlan, Failure> {
        let words = ["rooflab", "evolve", "p"].into_iter().chain(rest.split_whitespace());
        let Verb::Run(run) = Args::parse_from(words).verb else { panic!() };
        ProposerPlan::new(&run.proposer)
    }

    #[test]
    fn proposers_are_named_on_the_command_line() {
        let check = |rest: &str, expected: Option<&[&str]>| {
            let names = plan(rest).ok().map(|plan| plan.members.iter().map(|m| m.ask.to_string()).collect::<Vec<_>>());
            assert_eq!(names, expected.map(|all| all.iter().map(|s| (*s).to_owned()).collect()), "{rest}");
        };
        check("", Some(&[]));
        check("--proposer embedded", Some(&[]));
        check("--proposer openai:m@http://h:1 --price 3,15", Some(&["openai:m@http://h:1/v1"]));
        check("--proposer mailbox:d", Some(&["mailbox:d"]));
        check("--proposer telepathy", None);
        check("--proposer mailbox:d --price 3", None);
        check("--proposer openai:m@http://h --key sk-0", None);
        check("--models nowhere.toml", None);
    }

    #[test]
    fn how_to_go_on_is_said_in_full() {
        let check = |rest: &str| assert_eq!(plan(rest).unwrap().again.trim(), rest);
        check("");
        check("--proposer openai:m@http://h:1/v1 --key env:KEY --price 3,15 --max-calls 3 --max-wait 120s");
        assert_eq!(quoted("command:it's $x"), r"'command:it'\''s $x'");
    }

    #[test]
    fn caps_and_purposes() {
        let plan = plan("--max-money 1.5 --max-calls 3 --max-wait 2m --dry-run").unwrap();
        let expected = Caps { money: Some(Money(1_500_000)), calls: Some(3), time: Some(Seconds(120.0)), tokens: None };
        assert_eq!((plan.caps, plan.purpose), (expected, Purpose::DryRun));
    }
}
