//! The arguments of `rooflab compare` and `rooflab selftest`, parsed and nothing more.
//!
//! Must not decide which of them belong together beyond what clap can check: that is in `commands::compare`.

use super::{margin, share};
use crate::duration;
use ::compare::samples::{Format, TimeUnit};
use clap::Subcommand;
use model::Seconds;
use std::path::PathBuf;

/// The end of `rooflab compare --help`.
const AFTER: &str = "\
Exit codes:
  0    done, whatever was found; with --gate: B is not worse than A by more than the margin
  1    with --gate: B is worse than A, with its whole interval beyond the margin
  2    usage, or a file of samples that makes no sense
  3    with --gate: undecided; also when the run was discarded, or the samples can't support a verdict
  4    what was to be compared failed; what was measured until then is printed
  130  interrupted; what was measured until then is printed

Effects are t_B / t_A - 1: +2 % is 2 % slower than A. A verdict is wrong at most in a share --alpha of all runs.";

/// `rooflab compare`.
///
/// Answers whether B is better than A here, beyond this machine's noise, or says that it can't tell. A is measured
/// against itself first, then both in coin-flipped pairs until the evidence decides or the budget is spent, then A
/// again: a run whose A drifted by more than 5 % is discarded.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER, override_usage = "rooflab compare [OPTIONS] -- 'CMD A' -- 'CMD B' [-- 'CMD C']
       rooflab compare [OPTIONS] --repo PATH --base REV --patch REV --build CMD --run CMD
       rooflab compare [OPTIONS] --problem PROBLEM A B
       rooflab compare [OPTIONS] --samples A B
       rooflab compare [OPTIONS] --history FILE...
       rooflab compare [OPTIONS] --sql CONNECTION -- 'STATEMENT A' -- 'STATEMENT B'")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub struct CompareArgs {
    /// Two candidates of a problem, or libraries for it, through its judge.
    #[command(flatten)]
    pub candidates: ProblemArgs,
    /// Everything after the first `--`: the arms, one after each `--`. The first is A, the base.
    ///
    /// With more than two, each is compared with the first, and the verdicts keep their error rate together (e-BH).
    #[arg(last = true, value_name = "CMD", allow_hyphen_values = true)]
    pub arms: Vec<String>,
    /// The repository whose two states are compared, each in its own clean worktree.
    #[arg(long, value_name = "PATH", requires_all = ["base", "patch", "run"], help_heading = "Git")]
    pub repo: Option<PathBuf>,
    /// The base's revision.
    #[arg(long, value_name = "REV", requires = "repo", help_heading = "Git")]
    pub base: Option<String>,
    /// The patch's revision.
    #[arg(long, value_name = "REV", requires = "repo", help_heading = "Git")]
    pub patch: Option<String>,
    /// Build the state that a merge of --patch into --base would make, and compare that with the base.
    #[arg(long, requires = "repo", help_heading = "Git")]
    pub merge: bool,
    /// Command that builds either state. `{seed}` in it, and $ROOFLAB_BUILD_SEED, differ from build to build.
    #[arg(long, value_name = "CMD", requires = "repo", help_heading = "Git")]
    pub build: Option<String>,
    /// Build both states afresh for every pair, so that the luck of a layout is measured and not hidden.
    ///
    /// Give `{seed}` to a linker that shuffles, e.g. --build 'make LDFLAGS=-Wl,--shuffle-sections=*={seed}'.
    #[arg(long, requires = "build", help_heading = "Git")]
    pub fresh_builds: bool,
    /// Command that is timed, in either worktree.
    #[arg(long, value_name = "CMD", requires = "repo", help_heading = "Git")]
    pub run: Option<String>,
    /// Command that takes no changed path, and so measures the noise in the same run. May be repeated.
    ///
    /// When a control differs between the two states, something besides the change does, and no verdict is given.
    #[arg(long, value_name = "CMD", requires = "repo", help_heading = "Git")]
    pub control: Vec<String>,
    /// Two files of samples that others took, or one that holds both.
    ///
    /// hyperfine, criterion, Google Benchmark, nvbench, pyperf, pytest-benchmark, CSV, or rooflab's own JSON. Samples
    /// taken one arm after the other can't exclude drift, and the answer says so.
    #[arg(long, num_args = 1..=2, value_names = ["A", "B"], conflicts_with_all = ["repo", "sql", "problem"],
          help_heading = "Samples")]
    pub samples: Vec<PathBuf>,
    /// Results in their order, oldest first: where did they change?
    ///
    /// One file of samples a result, in any format that --samples reads, and its median counts; or one file, whose
    /// every row is a result: CSV, or objects of JSON. A column or key `commit` (or revision, sha, version, tag, label)
    /// names the results. Changes are found by E-divisive: medians that differ, with a permutation test.
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with_all = ["repo", "sql", "problem", "samples", "gate"],
          help_heading = "Samples")]
    pub history: Vec<PathBuf>,
    /// The samples' format; found out from their content without it.
    #[arg(long, value_name = "NAME", value_parser = sample_format, help_heading = "Samples")]
    pub format: Option<Format>,
    /// Unit of a CSV whose header names none: ns, us, ms, s or min.
    #[arg(long, value_name = "UNIT", value_parser = time_unit, help_heading = "Samples")]
    pub unit: Option<TimeUnit>,
    /// Compare SQL statements on this PostgreSQL, with their plans. Put a password into PGPASSFILE.
    #[arg(long, value_name = "CONNECTION", conflicts_with = "repo", help_heading = "SQL")]
    pub sql: Option<String>,
    /// SQL that begins each of A's sessions, e.g. a SET. It is rolled back.
    #[arg(
        long,
        value_name = "SQL",
        requires = "sql",
        default_value = "",
        hide_default_value = true,
        help_heading = "SQL"
    )]
    pub session_a: String,
    /// SQL that begins each of B's sessions, e.g. a SET or CREATE INDEX. It is rolled back.
    ///
    /// With it, one statement is enough: both arms run it. A table that one arm writes can't get an index in the other.
    #[arg(
        long,
        value_name = "SQL",
        requires = "sql",
        default_value = "",
        hide_default_value = true,
        help_heading = "SQL"
    )]
    pub session_b: String,
    /// Name of an arm in the answer, or of a set in a file of samples that holds more. The first is A's.
    #[arg(long, value_name = "NAME", conflicts_with = "repo")]
    pub name: Vec<String>,
    /// How the commands run.
    #[command(flatten)]
    pub how: HowArgs,
    /// When it is decided.
    #[command(flatten)]
    pub rule: RuleArgs,
    /// Print JSON: at least verdict, effect, interval, pairs and resolvable.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print a GitHub-flavoured Markdown table.
    #[arg(long)]
    pub markdown: bool,
    /// Write a plot: the pairs in time, their distribution, the running interval, for each B. For --history, the series.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
}

/// Two candidates of a problem, or libraries for it.
#[derive(Clone, Debug, clap::Args)]
pub struct ProblemArgs {
    /// A and B: C files, prebuilt shared libraries, names of baselines, or builtin:NAME. Only with --problem.
    ///
    /// A library exports the problem's function by its own name, or `rooflab_entry` as those of `rooflab export` do. It is
    /// yours, so it is not vetted; it is loaded with the system's libraries, then sealed and checked like a candidate.
    #[arg(value_name = "CANDIDATE", num_args = 0..=2, requires = "problem", help_heading = "Candidates")]
    pub files: Vec<String>,
    /// Compare two candidates or libraries for this problem, in the judge's sandbox: its folder, or its name under
    /// problems/.
    #[arg(long, value_name = "PROBLEM", conflicts_with_all = ["repo", "sql"], help_heading = "Candidates")]
    pub problem: Option<PathBuf>,
    /// Only these workloads, by name, with commas between them.
    #[arg(long, value_name = "NAMES", requires = "problem", help_heading = "Candidates")]
    pub workloads: Option<String>,
    /// Judge without the sandbox where it can't be set up.
    #[arg(long, requires = "problem", help_heading = "Candidates")]
    pub unconfined: bool,
}

/// How the commands of a comparison run.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Commands")]
pub struct HowArgs {
    /// One arm for each value: {NAME} is replaced in every command line. May be repeated.
    #[arg(long, value_name = "NAME=V1,V2,...", value_parser = parameter)]
    pub parameter: Vec<(String, Vec<String>)>,
    /// Command that runs once before anything is timed, for each arm.
    #[arg(long, value_name = "CMD")]
    pub setup: Option<String>,
    /// Command that runs before every run, untimed.
    #[arg(long, value_name = "CMD")]
    pub prepare: Option<String>,
    /// Command that runs once at the end, for each arm, also after an error.
    #[arg(long, value_name = "CMD")]
    pub cleanup: Option<String>,
    /// File for the commands' standard input.
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Environment variable for every arm. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// Environment variable for A alone. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    pub env_a: Vec<(String, String)>,
    /// Environment variable for B alone. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    pub env_b: Vec<(String, String)>,
    /// Working directory of every arm. With --repo, inside the worktree.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Working directory of A.
    #[arg(long, value_name = "DIR")]
    pub cwd_a: Option<PathBuf>,
    /// Working directory of B.
    #[arg(long, value_name = "DIR")]
    pub cwd_b: Option<PathBuf>,
    /// Run every command through this shell, or `none`. Without it, only commands that use shell syntax get /bin/sh.
    #[arg(long, value_name = "SHELL")]
    pub shell: Option<String>,
    /// Require the arms' outputs to be equal.
    #[arg(long)]
    pub same_output: bool,
    /// Go on when a command fails.
    #[arg(long)]
    pub ignore_failure: bool,
    /// Kill a run, a build or a setup, with all that it started, after this long. A timed run gets --budget at most.
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "10m")]
    pub limit: Seconds,
    /// Core that all runs are pinned to.
    #[arg(long, value_name = "CORE")]
    pub pin: Option<usize>,
}

/// When a comparison is decided.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Rule")]
pub struct RuleArgs {
    /// Stop when the evidence decides, or after this long.
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "60s")]
    pub budget: Seconds,
    /// Measure exactly N pairs, instead of stopping when the evidence decides. Exact sign-flip p.
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
    /// Where the noise comes from: `session` compares A with itself first, `day` takes the day's where one is kept.
    ///
    /// It plans the run and says what the budget can resolve; no verdict depends on it. The day's is kept a machine,
    /// kernel and A, under $XDG_CACHE_HOME/rooflab, and is measured afresh when the first pairs contradict it.
    #[arg(long, value_name = "FROM", default_value = "session", value_parser = noise)]
    pub noise: ::compare::NoiseUse,
    /// The time that decides: wall, cpu or user.
    #[arg(long, value_name = "TIME", default_value = "wall", value_parser = metric)]
    pub metric: ::compare::Metric,
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
    /// Effects: none, +0.3 %, +1 %, +2 %, +5 %. Rules: ours, in a budget and for a fixed number; Welch's t, Mann-Whitney and the minimum
    /// on sequential blocks of as many runs. Kernels: bound by the core and by memory, alone and beside a noisy
    /// neighbour. Intervals are Clopper-Pearson's, 95 %. The default takes about three minutes.
    Compare {
        /// Windows for each effect, kernel and neighbour: 20 times as many in all.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        windows: u32,
        /// Seconds of one window; interleaved pairs take half of it, the sequential blocks the other half.
        #[arg(long, value_name = "S", default_value_t = 0.1, value_parser = window_seconds)]
        seconds: f64,
        /// Folder for the raw data: every window's times and every rule's answer (windows.jsonl), and the table.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

fn window_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.03..=600.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a number of seconds from 0.03 to 600")),
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not KEY=VALUE")),
    }
}

fn parameter(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) = variable(text).map_err(|_| format!("`{text}` is not NAME=V1,V2,..."))?;
    Ok((name, values.split(',').map(str::to_owned).collect()))
}

fn metric(text: &str) -> Result<::compare::Metric, String> {
    match text {
        "wall" => Ok(::compare::Metric::Wall),
        "cpu" => Ok(::compare::Metric::Cpu),
        "user" => Ok(::compare::Metric::User),
        _ => Err(format!("`{text}` is none of wall, cpu, user")),
    }
}

fn noise(text: &str) -> Result<::compare::NoiseUse, String> {
    match text {
        "session" => Ok(::compare::NoiseUse::Session),
        "day" => Ok(::compare::NoiseUse::Day),
        _ => Err(format!("`{text}` is neither session nor day")),
    }
}

fn time_unit(text: &str) -> Result<TimeUnit, String> {
    TimeUnit::named(text).ok_or_else(|| format!("`{text}` is none of ns, us, ms, s, min"))
}

fn sample_format(text: &str) -> Result<Format, String> {
    use Format as F;
    let all = [
        F::Hyperfine,
        F::Criterion,
        F::GoogleBenchmark,
        F::Nvbench,
        F::Pyperf,
        F::PytestBenchmark,
        F::Csv,
        F::JsonRows,
        F::Rooflab,
    ];
    let plain = |name: &str| name.to_lowercase().replace([' ', '_'], "-");
    all.into_iter().find(|format| plain(format.name()) == plain(text)).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|format| plain(format.name())).collect();
        format!("`{text}` is no format: use {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Verb};
    use clap::Parser;

    fn parse(words: &[&str]) -> Result<Box<CompareArgs>, clap::Error> {
        match Args::try_parse_from(["rooflab", "compare"].iter().chain(words))?.verb {
            Verb::Compare(args) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_way_to_compare_parses() {
        let candidates = parse(&["--problem", "p", "a.c", "b.c", "--gate"]).unwrap();
        assert_eq!(candidates.candidates.files, ["a.c", "b.c"]);
        let history = parse(&["--history", "1.json", "2.json", "--plot", "h.svg"]).unwrap();
        assert_eq!((history.history.len(), history.plot), (2, Some(PathBuf::from("h.svg"))));
        let words = ["--env-a", "K=V=W", "--cwd-b", "/x", "--parameter", "n=1,2", "--", "a", "--", "b"];
        let commands = parse(&words).unwrap().how;
        assert_eq!(commands.env_a, [("K".to_owned(), "V=W".to_owned())]);
        assert_eq!(commands.parameter, [("n".to_owned(), vec!["1".to_owned(), "2".to_owned()])]);
        assert_eq!(commands.cwd_b, Some(PathBuf::from("/x")));
    }

    #[test]
    fn refused() {
        let check = |words: &[&str], part: &str| {
            let message = parse(words).unwrap_err().to_string();
            assert!(message.contains(part), "{words:?}: {message}");
        };
        check(&["a.c", "b.c"], "--problem");
        check(&["--problem", "p", "a", "b", "c"], "unexpected");
        check(&["--env", "K", "--", "a", "--", "b"], "not KEY=VALUE");
        check(&["--parameter", "n", "--", "a", "--", "b"], "NAME=V1,V2");
        check(&["--samples", "a", "--unit", "fortnight"], "none of ns, us");
        check(&["--history", "a", "--gate"], "cannot be used with");
        check(&["--session-a", "SET x", "--", "a", "--", "b"], "--sql");
        check(&["--noise", "week", "--", "a", "--", "b"], "neither session nor day");
        check(&["--fresh-builds", "--", "a", "--", "b"], "--build");
    }
}
