//! The arguments of `compare` and `selftest`, parsed and nothing more.

use super::{margin, share};
use crate::duration;
use ::compare::Metric;
use ::compare::samples::{Format, TimeUnit};
use clap::Subcommand;
use model::Seconds;
use std::path::PathBuf;

/// `rooflab compare`.
///
/// Commands: `rooflab compare -- 'cmd a' -- 'cmd b'`. Git states: --repo with --base, --patch, --build and --run.
/// Samples that others took: --samples A B. SQL: --sql with two statements after `--`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "rooflab compare [OPTIONS] -- 'CMD A' -- 'CMD B' [-- 'CMD C']
       rooflab compare [OPTIONS] --repo PATH --base REV --patch REV --build CMD --run CMD
       rooflab compare [OPTIONS] --samples A B
       rooflab compare [OPTIONS] --sql CONNECTION -- 'STATEMENT A' -- 'STATEMENT B'")]
pub struct CompareArgs {
    /// Everything after the first `--`: the arms, one after each `--`. The first is A, the base.
    #[arg(last = true, value_name = "CMD", allow_hyphen_values = true)]
    pub arms: Vec<String>,
    /// The repository whose two states are compared.
    #[arg(long, value_name = "PATH", requires_all = ["base", "patch", "run"])]
    pub repo: Option<PathBuf>,
    /// The base's revision.
    #[arg(long, value_name = "REV", requires = "repo")]
    pub base: Option<String>,
    /// The patch's revision.
    #[arg(long, value_name = "REV", requires = "repo")]
    pub patch: Option<String>,
    /// Build the state that a merge of --patch into --base would make, and compare that with the base.
    #[arg(long, requires = "repo")]
    pub merge: bool,
    /// Command that builds either state, in its own clean worktree.
    #[arg(long, value_name = "CMD", requires = "repo")]
    pub build: Option<String>,
    /// Command that is timed, in either worktree.
    #[arg(long, value_name = "CMD", requires = "repo")]
    pub run: Option<String>,
    /// Command that takes no changed path, and so measures the noise in the same run. May be repeated.
    #[arg(long, value_name = "CMD", requires = "repo")]
    pub control: Vec<String>,
    /// Two files of samples that others took, or one that holds both.
    ///
    /// hyperfine, criterion, Google Benchmark, nvbench, pyperf, pytest-benchmark, CSV, or rooflab's own JSON. Samples
    /// taken one arm after the other can't exclude drift, and the answer says so.
    #[arg(long, num_args = 1..=2, value_names = ["A", "B"], conflicts_with_all = ["repo", "sql"])]
    pub samples: Vec<PathBuf>,
    /// The samples' format; found out from their content without it.
    #[arg(long, value_name = "NAME", requires = "samples", value_parser = sample_format)]
    pub format: Option<Format>,
    /// Unit of a CSV whose header names none: ns, us, ms, s or min.
    #[arg(long, value_name = "UNIT", requires = "samples", value_parser = unit)]
    pub unit: Option<TimeUnit>,
    /// Names of A and B where a file of samples holds more.
    #[arg(long, value_name = "NAME", requires = "samples")]
    pub name: Vec<String>,
    /// Compare SQL statements on this PostgreSQL, with their plans. Put a password into PGPASSFILE.
    #[arg(long, value_name = "CONNECTION", conflicts_with = "repo")]
    pub sql: Option<String>,
    /// How the commands run.
    #[command(flatten)]
    pub how: HowArgs,
    /// When it is decided.
    #[command(flatten)]
    pub rule: RuleArgs,
    /// Print JSON.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print a GitHub-flavoured Markdown table.
    #[arg(long)]
    pub markdown: bool,
}

/// How the commands of a comparison run.
#[derive(Clone, Debug, clap::Args)]
pub struct HowArgs {
    /// Command that runs once before anything is timed.
    #[arg(long, value_name = "CMD")]
    pub setup: Option<String>,
    /// Command that runs before every run, untimed.
    #[arg(long, value_name = "CMD")]
    pub prepare: Option<String>,
    /// Command that runs once at the end.
    #[arg(long, value_name = "CMD")]
    pub cleanup: Option<String>,
    /// File for the commands' standard input.
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Run every command through this shell, or `none`. Without it, only commands that use shell syntax get /bin/sh.
    #[arg(long, value_name = "SHELL")]
    pub shell: Option<String>,
    /// Require the arms' outputs to be equal.
    #[arg(long)]
    pub same_output: bool,
    /// Go on when a command fails.
    #[arg(long)]
    pub ignore_failure: bool,
    /// Kill a run, with all that it started, after this long.
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "10m")]
    pub limit: Seconds,
    /// Core that all runs are pinned to.
    #[arg(long, value_name = "CORE")]
    pub pin: Option<usize>,
}

/// When a comparison is decided.
#[derive(Clone, Debug, clap::Args)]
pub struct RuleArgs {
    /// Stop when the evidence decides, or after this long.
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "60s")]
    pub budget: Seconds,
    /// Measure exactly N pairs, instead of stopping when the evidence decides.
    #[arg(long, value_name = "N")]
    pub pairs: Option<usize>,
    /// Pairs at most.
    #[arg(long, value_name = "N", default_value_t = 10_000, conflicts_with = "pairs")]
    pub max_pairs: usize,
    /// Error rate of the verdict.
    #[arg(long, value_name = "P", default_value_t = 0.01, value_parser = share)]
    pub alpha: f64,
    /// Differences below this share of the time do not matter, e.g. 0.5% or 0.005.
    #[arg(long, value_name = "SHARE", default_value = "0.5%", value_parser = margin)]
    pub margin: f64,
    /// The time that decides: wall, cpu or user.
    #[arg(long, value_name = "TIME", default_value = "wall", value_parser = metric)]
    pub metric: Metric,
    /// Exit 1 when B is worse than A with its whole interval beyond the margin, 3 when undecided.
    #[arg(long)]
    pub gate: bool,
    /// Seed of the coin that orders each pair; drawn without it, and in the output either way.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// `rooflab selftest`.
#[derive(Debug, clap::Args)]
pub struct SelftestArgs {
    /// What to test.
    #[command(subcommand)]
    pub what: SelftestVerb,
}

/// What rooflab tests of itself.
#[derive(Debug, Subcommand)]
pub enum SelftestVerb {
    /// Identical arms and injected differences: how often each rule is right, wrong, silent.
    ///
    /// Rules: ours, anytime and fixed; Welch's t, Mann-Whitney and the minimum on sequential blocks. Kernels: bound by
    /// the core and by memory, alone and beside a noisy neighbour.
    Compare {
        /// Windows for each effect.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        windows: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

fn metric(text: &str) -> Result<Metric, String> {
    match text {
        "wall" => Ok(Metric::Wall),
        "cpu" => Ok(Metric::Cpu),
        "user" => Ok(Metric::User),
        _ => Err(format!("`{text}` is none of wall, cpu, user")),
    }
}

fn sample_format(text: &str) -> Result<Format, String> {
    use Format as F;
    let all =
        [F::Hyperfine, F::Criterion, F::GoogleBenchmark, F::Nvbench, F::Pyperf, F::PytestBenchmark, F::Csv, F::Rooflab];
    let plain = |name: &str| name.to_lowercase().replace([' ', '_'], "-");
    all.into_iter().find(|format| plain(format.name()) == plain(text)).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|format| plain(format.name())).collect();
        format!("`{text}` is no format: use {}", names.join(", "))
    })
}

fn unit(text: &str) -> Result<TimeUnit, String> {
    match text {
        "ns" => Ok(TimeUnit::Nano),
        "us" => Ok(TimeUnit::Micro),
        "ms" => Ok(TimeUnit::Milli),
        "s" => Ok(TimeUnit::Second),
        "min" => Ok(TimeUnit::Minute),
        _ => Err(format!("`{text}` is none of ns, us, ms, s, min")),
    }
}
