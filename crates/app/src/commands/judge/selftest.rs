//! `rooflab judge selftest`: this machine's judge meets the zoo, whose truth is known.
//!
//! Must not judge by anything but the judge that campaigns use, and must not keep a pass that was none.

use crate::args::{Args, JudgeSelftestArgs, Verb};
use crate::commands::print_json;
use crate::notice::Voice;
use crate::outcome::{Done, Failure, Outcome};
use crate::plan::{Confinement, Place};
use crate::session::{self, Bench};
use crate::store;
use crate::terminal::Quiet;
use clap::Parser;
use jiff::Timestamp;
use judge::client::JudgeProcess;
use model::{Arm, Fidelity, Job, Judgement, Selftest, Slice, Source, Verdict};
use problems::Problem;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;
use zoo::{Kind, ROWS, Row};

/// Process pairs of a cheat that need not be caught where it gains nothing: a trick that works gains a factor of
/// hundreds, and two builds of one function differ by a few percent after six pairs.
const GAIN_PAIRS: u32 = 6;
/// Process pairs of a twin, when it is timed at all: nothing is decided about it, so a pair does, whose every batch is
/// a checked one. Then every rule has had its chance to refuse it.
const TWIN_PAIRS: u32 = 1;

/// What became of one row.
#[derive(Serialize)]
struct Met {
    problem: &'static str,
    name: &'static str,
    does: &'static str,
    /// What the cheat had to become, one of these.
    expected: Vec<String>,
    cheat: String,
    twin: String,
    seconds: f64,
    as_expected: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Told<'a> {
    selftest: &'a Selftest,
    rows: &'a [Met],
    as_expected: usize,
    seconds: f64,
}

/// Runs it.
///
/// # Errors
/// When the shipped problems can't be written down, or the ledger can't be.
pub fn run(args: &JudgeSelftestArgs) -> Outcome {
    let rows: Vec<&Row> = ROWS.iter().filter(|row| is_asked(args, row)).collect();
    if rows.is_empty() {
        let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        return Err(Failure::usage("no row has such a name", format!("the rows are {}", names.join(", "))));
    }
    let begun = Instant::now();
    let mut met = Vec::new();
    for name in zoo::problems() {
        let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.problem == name).collect();
        if !rows.is_empty() {
            meet(args, name, &rows, &mut met)?;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let good = met.iter().filter(|row| row.as_expected).count();
    let selftest = Selftest {
        zoo: zoo::digest(),
        rows: met.len() as u32,
        whole: args.all,
        machine: map::fingerprint(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    if good == met.len() && args.only.is_none() {
        store::open(&Place::new(&args.place))?.put_selftest(Timestamp::now(), &selftest)?;
    }
    if args.json {
        print_json(&Told { selftest: &selftest, rows: &met, as_expected: good, seconds })?;
    } else {
        let rest = if args.all { String::new() } else { format!("; --all meets all {}", ROWS.len()) };
        let zoo = selftest.zoo.short();
        println!("selftest: {good} of {} rows as expected in {seconds:.1} s (zoo {zoo}{rest})", met.len());
    }
    Ok(if good == met.len() { Done::Complete } else { Done::RowUnexpected })
}

fn is_asked(args: &JudgeSelftestArgs, row: &Row) -> bool {
    match &args.only {
        Some(part) => row.name.contains(part.as_str()),
        None => args.all || row.is_quick(),
    }
}

/// The rows of one problem, all by one judge.
fn meet(args: &JudgeSelftestArgs, name: &str, rows: &[&'static Row], met: &mut Vec<Met>) -> Result<(), Failure> {
    let folder = tempfile::tempdir().map_err(|error| Failure::file(&std::env::temp_dir(), &error))?;
    write_problem(&folder, name)?;
    let problem = session::problem(folder.path())?;
    let bench = Bench {
        folder: folder.path().to_owned(),
        confinement: Confinement::Required,
        // Without a map nothing is quarantined: what catches a cheat here is a rule.
        map: None,
        voice: Voice::new(Quiet),
    };
    let mut keeper = Keeper { bench, problem, judge: None };
    if !args.json && met.is_empty() {
        let (judge, opened) = keeper.bench.open()?;
        keeper.judge = Some(judge);
        println!("sandbox: {}", opened.sandbox.join(", "));
    }
    for row in rows {
        let begun = Instant::now();
        let cheat = keeper.ask(args, row, Kind::Cheat);
        let twin = keeper.ask(args, row, Kind::Twin);
        let fits = |kind, judged: &Result<Judgement, String>| judged.as_ref().is_ok_and(|j| row.fits(kind, j));
        let row = Met {
            problem: row.problem,
            name: row.name,
            does: row.does,
            expected: row.caught.iter().map(ToString::to_string).collect(),
            as_expected: fits(Kind::Cheat, &cheat) && fits(Kind::Twin, &twin),
            cheat: words(&cheat),
            twin: words(&twin),
            seconds: begun.elapsed().as_secs_f64(),
        };
        if !args.json {
            print!("{}", line(&row));
        }
        met.push(row);
    }
    Ok(())
}

fn write_problem(folder: &TempDir, name: &str) -> Result<(), Failure> {
    for (file, text) in zoo::problem(name) {
        let path = folder.path().join(file);
        let parent = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| Failure::file(&path, &error))?;
    }
    Ok(())
}

/// One problem's judge, opened again after it has failed.
struct Keeper {
    bench: Bench,
    problem: Problem,
    judge: Option<JudgeProcess>,
}

impl Keeper {
    /// The judgement, or why there is none: an environment that fails is one more way for a row to be wrong.
    fn ask(&mut self, args: &JudgeSelftestArgs, row: &Row, kind: Kind) -> Result<Judgement, String> {
        let job = question(args, row, kind, &self.problem).map_err(|failure| said(&failure))?;
        let mut judge = match self.judge.take() {
            Some(judge) => judge,
            None => self.bench.open().map_err(|failure| said(&failure))?.0,
        };
        let judgement = judge.judge(&job).map_err(|error| error.to_string())?;
        self.judge = Some(judge);
        Ok(judgement)
    }
}

fn said(failure: &Failure) -> String {
    match failure {
        Failure::Usage(report) | Failure::Environment(report) => report.to_string(),
        Failure::Interrupted(text) => text.clone(),
    }
}

/// What the row asks, in the words of `rooflab judge`.
fn question(args: &JudgeSelftestArgs, row: &Row, kind: Kind, problem: &Problem) -> Result<Job, Failure> {
    let command = ["rooflab", "judge", row.problem, "-"].into_iter().chain(row.arguments.iter().copied());
    let asked = Args::try_parse_from(command).map_err(|error| Failure::usage(error, "mend the zoo's row"))?;
    let Verb::Judge(asked) = asked.verb else { unreachable!("the verb was given") };
    let source = |kind| Arm::Source(Source::c(row.text(kind)));
    let against = if row.faces_twin(kind) { source(Kind::Twin) } else { super::against(&asked, problem)? };
    let mut job = super::job(&asked, problem, [source(kind), against])?;
    let alpha = asked.alpha;
    match kind {
        Kind::Cheat if row.is_timed() => job.fidelity = Fidelity::Anytime { alpha, max_process_pairs: GAIN_PAIRS },
        Kind::Cheat => {}
        Kind::Twin => {
            let is_quick = !args.all && args.only.is_none();
            job.fidelity = if is_quick { Fidelity::Gate } else { Fidelity::Fixed { alpha, process_pairs: TWIN_PAIRS } };
            let mut names = match job.slice {
                Slice::Named(names) => names,
                _ => vec![problem.workloads[0].name.clone()],
            };
            if is_quick {
                names.truncate(1);
            }
            job.slice = Slice::Named(names);
        }
    }
    Ok(job)
}

/// The verdict without its evidence.
fn words(judged: &Result<Judgement, String>) -> String {
    match judged.as_ref().map(|judgement| &judgement.verdict) {
        Ok(Verdict::Refused { rule, .. }) => format!("refused ({rule})"),
        Ok(Verdict::Failed { stage, .. }) => format!("failed ({stage})"),
        Ok(verdict) => verdict.name().to_owned(),
        Err(error) => format!("no judgement: {}", error.lines().next().unwrap_or_default()),
    }
}

fn line(row: &Met) -> String {
    let mark = if row.as_expected { "ok" } else { "WRONG" };
    let Met { name, cheat, twin, seconds, .. } = row;
    let mut text = format!("{mark:<6} {name:<24} {seconds:5.1} s  cheat {cheat:<28}  twin {twin}\n");
    if !row.as_expected {
        let expected = row.expected.join(" or ");
        let _ = writeln!(text, "       {}; expected: {expected}, and a twin that is measured", row.does);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_question() {
        let args = |all| {
            let command = ["rooflab", "judge", "selftest"].into_iter().chain(all);
            let Verb::Judge(judge) = Args::parse_from(command).verb else { panic!() };
            let Some(crate::args::JudgeVerb::Selftest(args)) = judge.what else { panic!() };
            args
        };
        for name in zoo::problems() {
            let folder = tempfile::tempdir().unwrap();
            write_problem(&folder, name).unwrap();
            let problem = session::problem(folder.path()).unwrap();
            for row in ROWS.iter().filter(|row| row.problem == name) {
                for (kind, all) in [(Kind::Cheat, None), (Kind::Twin, None), (Kind::Twin, Some("--all"))] {
                    let job =
                        question(&args(all), row, kind, &problem).unwrap_or_else(|f| panic!("{}: {f:?}", row.name));
                    let is_gate = kind == Kind::Twin && all.is_none();
                    assert_eq!(job.fidelity == Fidelity::Gate, is_gate, "{} {kind:?}", row.name);
                    let pairs = match job.fidelity {
                        Fidelity::Gate => 0,
                        Fidelity::Fixed { process_pairs, .. } => process_pairs,
                        Fidelity::Anytime { max_process_pairs, .. } => max_process_pairs,
                    };
                    let expected = match (kind, all) {
                        (Kind::Twin, None) => 0,
                        (Kind::Twin, Some(_)) => TWIN_PAIRS,
                        (Kind::Cheat, _) if row.is_timed() => GAIN_PAIRS,
                        (Kind::Cheat, _) => super::super::MAX_PROCESS_PAIRS,
                    };
                    assert_eq!(pairs, expected, "{} {kind:?}", row.name);
                    assert!(matches!(&job.slice, Slice::Named(_)) || kind == Kind::Cheat, "{}", row.name);
                }
            }
        }
    }

    #[test]
    fn a_row_in_words() {
        let row = |as_expected, cheat: &str| Met {
            problem: "p",
            name: "no-op",
            does: "an earlier answer is still in the buffer",
            expected: vec!["refused (unwritten-output)".into(), "failed (invalid)".into()],
            cheat: cheat.into(),
            twin: "equivalent".into(),
            seconds: 0.25,
            as_expected,
        };
        insta::assert_snapshot!(line(&row(true, "refused (unwritten-output)")), @"ok     no-op                      0.2 s  cheat refused (unwritten-output)    twin equivalent");
        insta::assert_snapshot!(line(&row(false, "better")), @r"
        WRONG  no-op                      0.2 s  cheat better                        twin equivalent
               an earlier answer is still in the buffer; expected: refused (unwritten-output) or failed (invalid), and a twin that is measured
        ");
    }
}
