//! The arguments of `rooflab judge`, parsed and nothing more.

use super::{PlaceArgs, margin, share};
use crate::duration;
use clap::Subcommand;
use model::Seconds;
use std::path::PathBuf;

/// `rooflab judge`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = "rooflab judge [OPTIONS] PROBLEM FILE
       rooflab judge [OPTIONS] PROBLEM --batch DIR --out FILE
       rooflab judge selftest [--all]"
)]
pub struct JudgeArgs {
    /// What else the judge can be asked.
    #[command(subcommand)]
    pub what: Option<JudgeVerb>,
    /// The problem: its folder, or the name of one under problems/.
    ///
    /// A folder with a definition.json is read as SOL-ExecBench and FlashInfer-Bench have it: the candidate is a
    /// solution's JSON, or a Python or C file with a function `run`; it is compared with the definition's reference,
    /// and traces are written in their format. A folder with an evaluator.py and an initial_program.py is a task of
    /// OpenEvolve's (evaluate.py and initial.py: of ShinkaEvolve's): its own evaluator scores both programs. A Python
    /// file with Model, get_inputs and get_init_inputs is a problem of KernelBench's: the candidate defines ModelNew.
    #[arg(value_name = "PROBLEM", required = true)]
    pub problem: Option<PathBuf>,
    /// The candidate: a C, C++ (.cpp), Rust (.rs) or Python (.py) file, the name of a baseline, or builtin:NAME.
    ///
    /// builtin:NAME+2% is that baseline made 2 % slower: the judge's own test candidate.
    #[arg(value_name = "FILE", required_unless_present = "batch", conflicts_with = "batch")]
    pub candidate: Option<String>,
    /// Judge every candidate in this folder (*.c, *.cpp, *.rs, *.py, and *.json as campaigns keep
    /// their winner), in the order of their names.
    ///
    /// Needs no ledger and no network: the judgements, with their samples, go to --out, a file that `rooflab ledger
    /// import` takes in on another machine. A batch that was interrupted goes on where it stopped when it is started
    /// again.
    #[arg(long, value_name = "DIR", requires = "out")]
    pub batch: Option<PathBuf>,
    /// With --batch: leave out the 30 s that measure this machine first. No candidate is held against its ceilings then.
    #[arg(long, requires = "batch")]
    pub no_map: bool,
    /// What to compare with: a file, the name of a baseline, or builtin:NAME [default: the stock baseline].
    #[arg(long, value_name = "FILE|NAME")]
    pub against: Option<String>,
    /// Only these workloads, by name, with commas between them.
    #[arg(long, value_name = "NAMES")]
    pub workloads: Option<String>,
    /// Measure exactly N pairs of processes a workload, instead of stopping when the evidence decides.
    ///
    /// At least 8, so that the sign-flip test can reach its level.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..))]
    pub fixed: Option<u32>,
    /// Error rate of the test.
    #[arg(long, value_name = "P", default_value_t = 0.01, value_parser = share)]
    pub alpha: f64,
    /// Differences below this share of the time do not matter, e.g. 0.5% or 0.005.
    #[arg(long, value_name = "SHARE", default_value = "0.5%", value_parser = margin)]
    pub margin: f64,
    /// A compiler flag for the candidate, from the builder's allow-list. May be repeated.
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    pub flags: Vec<String>,
    /// Give up after this long.
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "5m")]
    pub cap: Seconds,
    /// For a folder in a benchmark's format: where its traces go [default: traces/SOLUTION.jsonl in --out].
    #[arg(long, value_name = "FILE", conflicts_with = "batch")]
    pub traces: Option<PathBuf>,
    /// For a task with its own evaluator: the metric that decides [default: combined_score, else the mean of all].
    #[arg(long, value_name = "NAME", conflicts_with = "batch")]
    pub metric: Option<String>,
    /// Print the whole judgement as JSON.
    #[arg(long)]
    pub json: bool,
    /// Judge without the sandbox where it can't be set up.
    #[arg(long)]
    pub unconfined: bool,
    /// Where results are kept: a stored map gives the fractions of ceiling. With --batch, --out is the file of judgements.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// What else the judge can be asked.
#[derive(Debug, Subcommand)]
pub enum JudgeVerb {
    /// Let this machine's judge meet a zoo of cheats and their honest twins, whose truth is known.
    ///
    /// A cheat has to be caught by the rule that its row names, a twin has to pass. Exit code 0 only when every row is as
    /// expected; the last line says it. A pass is kept in the ledger, and campaigns on this machine refer to it.
    Selftest(JudgeSelftestArgs),
}

/// `rooflab judge selftest`.
#[derive(Debug, clap::Args)]
pub struct JudgeSelftestArgs {
    /// Every row, honest twins timed as well, instead of those that take under 20 s together. Some two minutes.
    #[arg(long)]
    pub all: bool,
    /// Only rows whose name contains this, as with --all.
    #[arg(long, value_name = "TEXT", conflicts_with = "all")]
    pub only: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Where results are kept.
    #[command(flatten)]
    pub place: PlaceArgs,
}
