//! The command line, parsed and nothing more: no file is opened, no default that depends on the machine is filled in.
//!
//! `plan` resolves what is parsed here.

mod compare;
mod judge;
mod map;
mod propose;
mod target;

pub use compare::{CompareArgs, HowArgs, RuleArgs, SelftestArgs, SelftestVerb};
pub use judge::{JudgeArgs, JudgeSelftestArgs, JudgeVerb};
pub use map::{MapArgs, MapVerb};
pub use propose::ProposerArgs;
pub use target::TargetArgs;

use crate::duration;
use clap::{Parser, Subcommand};
use model::Seconds;
use std::path::PathBuf;

/// Exit codes, for the end of `--help`.
const AFTER: &str = "\
Exit codes:
  0    done, whatever was found
  1    with --gate: B is worse than A; judge selftest: a row is not as expected
  2    usage, or input that makes no sense
  3    with --gate: the evidence does not decide
  4    the environment failed: no compiler, no sandbox, a disk that is full
  130  interrupted; the message says how to go on";

/// Finds how far code is from what this machine can do, searches for code that closes the gap, and proves what it found.
///
/// Start with `rooflab run problems/attention-prefill`: it measures this machine, scores the problem's baselines
/// against it, searches for faster code with nothing but the C compiler, judges every candidate in a sandbox, verifies
/// the winner and leaves a page to look at. Everything it learns, failures too, is kept in a ledger.
#[derive(Debug, Parser)]
#[command(name = "rooflab", version, after_help = AFTER, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// The whole loop for one problem: map, score, search, mine, verify, report.
    #[command(visible_alias = "evolve")]
    Run(Box<RunArgs>),
    /// Measure what this machine sustains.
    Map(MapArgs),
    /// Hold a problem's baselines against this machine's ceilings.
    Score(ScoreArgs),
    /// Judge candidates by hand: one, a folder of them, or the zoo of cheats that shows what this judge is worth here.
    Judge(Box<JudgeArgs>),
    /// What each jump of a campaign changed, and what each change is worth.
    Mine(MineArgs),
    /// Climb the ladder with one candidate, and print its certificate.
    Verify(VerifyArgs),
    /// Write a campaign's page again from the ledger.
    Report(ReportArgs),
    /// Read the ledger.
    Ledger(LedgerArgs),
    /// Write a winner as a C header and a library that a program can link.
    Export(ExportArgs),
    /// Make a new problem's folder, ready to run.
    New(NewArgs),
    /// Is B better than A, beyond this machine's noise?
    Compare(Box<CompareArgs>),
    /// Turn rooflab on itself.
    Selftest(SelftestArgs),
}

/// Where results are kept. The ledger is --ledger, else $ROOFLAB_LEDGER, else ledger.db in the output folder.
#[derive(Clone, Debug, clap::Args)]
pub struct PlaceArgs {
    /// Folder for everything that is written.
    ///
    /// One folder a campaign, with report.html, certificate.json and the winner's source; and the ledger, unless
    /// --ledger says otherwise. It is made when it does not exist.
    #[arg(long, value_name = "DIR", default_value = "rooflab-out")]
    pub out: PathBuf,
    /// The ledger's file.
    ///
    /// An SQLite file that is only ever appended to. Several processes may use one ledger at once.
    #[arg(long, value_name = "FILE", env = "ROOFLAB_LEDGER")]
    pub ledger: Option<PathBuf>,
}

/// Which ledger to read: --ledger, else $ROOFLAB_LEDGER, else rooflab-out/ledger.db.
#[derive(Clone, Debug, clap::Args)]
pub struct StoreArgs {
    /// The ledger's file [default: rooflab-out/ledger.db].
    #[arg(long, value_name = "FILE", env = "ROOFLAB_LEDGER", global = true)]
    pub ledger: Option<PathBuf>,
}

/// `rooflab run`.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// The problem: its folder, or the name of one under problems/. With --from-score a folder of problems.
    #[arg(value_name = "PROBLEM", required_unless_present = "from_score")]
    pub problem: Option<PathBuf>,
    /// How long to search, e.g. 90s, 5m, 1h30m [default: the problem's, 5m for those that come with rooflab].
    ///
    /// The search alone: measuring the machine before it, and comparing, mining and verifying the winner after it come
    /// on top, and the run says how long they will take. Without --budget but with --candidates there is no limit in
    /// time.
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub budget: Option<Seconds>,
    /// Stop the search after this many candidates.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub candidates: Option<u32>,
    /// Seed of the search's choices.
    ///
    /// The same seed and the same verdicts give the same proposals. The judge's own draws are never seeded: inputs that
    /// could be known in advance could be cheated on.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Go on with this problem's newest campaign that did not finish, as it was begun.
    #[arg(long, conflicts_with_all = ["seed", "budget", "candidates", "hypothesis"])]
    pub resume: bool,
    /// What you expect to find, written to the ledger before the run.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub hypothesis: String,
    /// How long the certificate's sustained rung runs.
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "10s")]
    pub sustained: Seconds,
    /// Judge without the sandbox where it can't be set up. Every record will say so.
    ///
    /// Candidates then run as you, with your files and your network. Use it on a machine that you can lose.
    #[arg(long)]
    pub unconfined: bool,
    /// Print one JSON object a line for everything that happens, instead of text for people.
    #[arg(long)]
    pub json: bool,
    /// Which problem.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Where results are kept.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Who proposes candidates. Last, because its heading would go on over what follows.
    #[command(flatten)]
    pub proposer: ProposerArgs,
}

/// `rooflab score`.
#[derive(Debug, clap::Args)]
pub struct ScoreArgs {
    /// The problem: its folder, or the name of one under problems/.
    #[arg(value_name = "PROBLEM")]
    pub problem: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Judge without the sandbox where it can't be set up.
    #[arg(long)]
    pub unconfined: bool,
    /// Where results are kept.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// `rooflab mine`.
#[derive(Debug, clap::Args)]
pub struct MineArgs {
    /// The campaign's id, or `last`.
    #[arg(value_name = "CAMPAIGN")]
    pub campaign: String,
    /// Print JSON.
    #[arg(long, conflicts_with = "html")]
    pub json: bool,
    /// Print the campaign's page.
    #[arg(long)]
    pub html: bool,
    /// Where results are kept.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// `rooflab verify`.
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// The problem: its folder, or the name of one under problems/.
    #[arg(value_name = "PROBLEM")]
    pub problem: PathBuf,
    /// The candidate's C file.
    #[arg(value_name = "FILE")]
    pub candidate: PathBuf,
    /// A compiler flag for the candidate, from the builder's allow-list. May be repeated.
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    pub flags: Vec<String>,
    /// How long the sustained rung runs.
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "10s")]
    pub sustained: Seconds,
    /// Print the certificate as JSON.
    #[arg(long)]
    pub json: bool,
    /// Judge without the sandbox where it can't be set up.
    #[arg(long)]
    pub unconfined: bool,
    /// Where results are kept: each look at held-out shapes is counted in the ledger.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// `rooflab report`.
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// The campaign's id, or `last`.
    #[arg(value_name = "CAMPAIGN")]
    pub campaign: String,
    /// The problem's folder, when it is not under problems/: ceilings and work come from it.
    #[arg(long, value_name = "PROBLEM")]
    pub problem: Option<PathBuf>,
    /// Where results are kept.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// `rooflab ledger`.
#[derive(Debug, clap::Args)]
pub struct LedgerArgs {
    /// What to read.
    #[command(subcommand)]
    pub what: LedgerVerb,
    /// Which ledger.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// What to read of the ledger.
#[derive(Debug, Subcommand)]
pub enum LedgerVerb {
    /// One line a campaign.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Everything about one campaign or one candidate.
    Show {
        /// A campaign's id, a candidate's digest, an entry's id, the start of one of these, or `last`.
        #[arg(value_name = "ID")]
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Hold every entry against its digest.
    Check,
    /// Take in what `ledger export` wrote. What is here already is skipped.
    Import {
        /// The exported file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// The whole ledger as one JSON object a line.
    Export {
        /// File to write to, instead of standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

/// `rooflab export`.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// A campaign's id (its winner is written), a candidate's digest or the start of it, or `last`.
    #[arg(value_name = "ID")]
    pub id: String,
    /// The folder to write to.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// The problem's folder, when it is not where the campaign found it.
    #[arg(long, value_name = "PROBLEM")]
    pub problem: Option<PathBuf>,
    /// Build without the sandbox where it can't be set up.
    #[arg(long)]
    pub unconfined: bool,
    /// Which ledger.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `rooflab new`.
#[derive(Debug, clap::Args)]
pub struct NewArgs {
    /// The problem's name: small letters, digits and hyphens. Its folder is made here.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Make the folder in this one.
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    pub parent: PathBuf,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err(format!("`{text}` is not a number between 0 and 1, such as 0.05")),
    }
}

fn margin(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    match number.trim().parse::<f64>() {
        Ok(value) if (0.0..0.5).contains(&(value * scale)) => Ok(value * scale),
        _ => Err(format!("`{text}` is not a share from 0 up to 0.5, such as 0.5% or 0.005")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_command_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn run_has_defaults() {
        let Verb::Run(run) = parse("rooflab run problems/x").unwrap().verb else { panic!() };
        assert_eq!((run.budget, run.candidates, run.seed, run.sustained), (None, None, 1, Seconds(10.0)));
        assert_eq!(run.place.out, PathBuf::from("rooflab-out"));
    }

    #[test]
    fn run_reads_its_flags() {
        let line = "rooflab run x --budget 90s --candidates 200 --seed 7 --unconfined --json --out o --ledger l.db";
        let Verb::Run(run) = parse(line).unwrap().verb else { panic!() };
        assert_eq!((run.budget, run.candidates, run.seed), (Some(Seconds(90.0)), Some(200), 7));
        assert!(run.unconfined && run.json);
        assert_eq!(run.place.ledger, Some(PathBuf::from("l.db")));
    }

    #[test]
    fn refused() {
        let check = |line: &str, part: &str| {
            let message = parse(line).unwrap_err().to_string();
            assert!(message.contains(part), "{line}: {message}");
        };
        check("rooflab", "Usage");
        check("rooflab run", "PROBLEM");
        check("rooflab run x --budget 90", "write 90s or 90m");
        check("rooflab run x --candidates 0", "0 is not in 1..");
        check("rooflab run x --resume --seed 3", "cannot be used with");
        check("rooflab judge", "PROBLEM");
        check("rooflab judge p", "FILE");
        check("rooflab judge p f --batch d --out o", "cannot be used with");
        check("rooflab judge p --batch d", "--out");
        check("rooflab judge p f --fixed 3", "3 is not in 8..");
        check("rooflab judge p f --alpha 2", "between 0 and 1");
        check("rooflab judge p f --margin=-1", "share from 0");
        check("rooflab judge p f --margin=60%", "share from 0");
        check("rooflab compare --samples a b --format vtune", "use hyperfine, criterion");
        check("rooflab compare --metric real -- a -- b", "none of wall, cpu, user");
        check("rooflab compare --base x -- a -- b", "--repo");
        check("rooflab mine c --json --html", "cannot be used with");
        check("rooflab frobnicate", "unrecognized subcommand");
    }

    #[test]
    fn compare_keeps_every_separator_after_the_first() {
        let line = ["rooflab", "compare", "--gate", "--", "sleep 1", "--", "sleep", "2", "--json"];
        let Verb::Compare(compare) = Args::try_parse_from(line).unwrap().verb else { panic!() };
        assert!(compare.rule.gate && !compare.json);
        assert_eq!(compare.arms, ["sleep 1", "--", "sleep", "2", "--json"]);
    }

    #[test]
    fn judge_is_three_commands() {
        let Verb::Judge(selftest) = parse("rooflab judge selftest --all --json --out o").unwrap().verb else {
            panic!()
        };
        let Some(JudgeVerb::Selftest(selftest)) = selftest.what else { panic!() };
        assert!(selftest.all && selftest.json && selftest.place.out.to_str() == Some("o"));
        let Verb::Judge(batch) = parse("rooflab judge p --batch d --out o --no-map").unwrap().verb else { panic!() };
        assert_eq!((batch.batch, batch.place.out), (Some(PathBuf::from("d")), PathBuf::from("o")));
        assert!(batch.no_map && batch.candidate.is_none());
    }

    #[test]
    fn judge_passes_names_through() {
        let Verb::Judge(judge) =
            parse("rooflab judge p builtin:stock+2% --workloads a,b --flag -ffast-math").unwrap().verb
        else {
            panic!()
        };
        assert_eq!(judge.candidate.as_deref(), Some("builtin:stock+2%"));
        assert_eq!(judge.workloads.as_deref(), Some("a,b"));
        assert_eq!(judge.flags, ["-ffast-math"]);
    }
}
