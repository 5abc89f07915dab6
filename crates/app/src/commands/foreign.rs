//! `rooflab judge` on a problem in another benchmark's format.
//!
//! Must not judge: the judge's process does, and what it says is printed and written back as traces.

mod evolve;

use super::{judge, print_json};
use crate::args::JudgeArgs;
use crate::notice::{Notice, Voice};
use crate::outcome::{Done, Failure, Outcome};
use crate::plan::{self, Format as Reader, Place};
use crate::terminal::Quiet;
use ::foreign::traces::{self, Setting};
use ::foreign::{ForeignError, Format, Task};
use ::judge::client::JudgeProcess;
use ::judge::message::{Answer, Question, Terms};
use model::Judgement;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

impl From<ForeignError> for Failure {
    fn from(error: ForeignError) -> Self {
        let help = error.help().to_owned();
        Self::usage(error, help)
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    judgement: &'a Judgement,
    errors: &'a [traces::Errors],
    libraries: &'a [(String, String)],
    problem: &'a str,
    candidate_name: &'a str,
    traces: Option<&'a Path>,
}

/// Runs it.
///
/// # Errors
/// When the files make no sense, the reference does not work, or the environment fails.
pub fn run(args: &JudgeArgs, format: Format) -> Outcome {
    let missing = || Failure::usage("no candidate", "name a solution's JSON, or a Python or C file");
    let folder = args.problem.as_deref().ok_or_else(missing)?;
    let candidate = args.candidate.as_deref().map(Path::new).ok_or_else(missing)?;
    let mut task = match format {
        Format::Bench => ::foreign::bench::task(folder, candidate, base(args)?.as_deref())?,
        Format::KernelBench => ::foreign::kernelbench::task(folder, candidate, base(args)?.as_deref())?,
        Format::Evolve => return evolve::run(args, (folder, candidate, base(args)?.as_deref())),
    };
    task.candidate.flags.clone_from(&args.flags);
    if format == Format::Bench {
        choose(&mut task, args.workloads.as_deref())?;
    }
    let question = Question { task: task.clone(), terms: terms(args) };
    let voice = Voice::new(Quiet);
    let answer = JudgeProcess::foreign(question, move |text| voice.say(&Notice::Working { text }))?;
    let path = (format == Format::Bench).then(|| traces_path(args, &task));
    if let Some(path) = &path {
        write_traces(path, &task, &answer)?;
    }
    if Reader::from_flag(args.json) == Reader::Json {
        let printed = Printed {
            judgement: &answer.judgement,
            errors: &answer.errors,
            libraries: &answer.libraries,
            problem: &task.name,
            candidate_name: &task.candidate.name,
            traces: path.as_deref(),
        };
        return print_json(&printed);
    }
    print!("{}", show(&task, &answer, path.as_deref()));
    Ok(Done::Complete)
}

fn terms(args: &JudgeArgs) -> Terms {
    Terms { fidelity: judge::fidelity(args), margin: args.margin, cap: args.cap, unconfined: args.unconfined }
}

/// Refuses options that mean nothing for a problem of this format (none: one of rooflab's own).
///
/// # Errors
/// Names the first, and where it belongs.
pub fn only_what_fits(args: &JudgeArgs, format: Option<Format>) -> Result<(), Failure> {
    use Format::{Bench, Evolve};
    let own = None;
    let options: [(&str, bool, &[Option<Format>], &str); 5] = [
        ("--traces", args.traces.is_some(), &[Some(Bench)], "folders with a definition.json"),
        ("--metric", args.metric.is_some(), &[Some(Evolve)], "tasks that bring their own evaluator"),
        ("--workloads", args.workloads.is_some(), &[own, Some(Bench)], "problems that declare their workloads"),
        ("--flag", !args.flags.is_empty(), &[own, Some(Bench)], "problems whose candidates are compiled"),
        ("--batch", args.batch.is_some(), &[own], "rooflab's own problems: judge candidates for others one by one"),
    ];
    match options.into_iter().find(|(_, is_given, formats, _)| *is_given && !formats.contains(&format)) {
        Some((option, _, _, place)) => {
            Err(Failure::usage(format!("{option} means nothing for this problem"), format!("it is for {place}")))
        }
        None => Ok(()),
    }
}

fn traces_path(args: &JudgeArgs, task: &Task) -> PathBuf {
    let named = format!("{}.jsonl", file_name(&task.candidate.name));
    args.traces.clone().unwrap_or_else(|| Place::new(&args.place).out.join("traces").join(named))
}

/// The other base of the comparison, where one is named.
fn base(args: &JudgeArgs) -> Result<Option<PathBuf>, Failure> {
    match &args.against {
        Some(text) if !Path::new(text).is_file() => Err(Failure::usage(
            format!("`{text}` is no file"),
            "here --against names another solution's file; without it the definition's reference is the base",
        )),
        other => Ok(other.as_ref().map(PathBuf::from)),
    }
}

fn choose(task: &mut Task, names: Option<&str>) -> Result<(), Failure> {
    let Some(text) = names else { return Ok(()) };
    let known: Vec<String> = task.shapes.iter().map(|shape| shape.name.clone()).collect();
    let wanted = plan::workloads(text, &known)?;
    task.shapes.retain(|shape| wanted.contains(&shape.name));
    Ok(())
}

/// A solution's name as a file's.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().map(plain).collect::<String>().trim_start_matches('.').to_owned()
}

/// Appends one line a workload.
fn write_traces(path: &Path, task: &Task, answer: &Answer) -> Result<(), Failure> {
    let hardware = map::fingerprint().cpu;
    let timestamp = jiff::Timestamp::now().to_string();
    let setting = Setting { hardware: &hardware, libraries: &answer.libraries, timestamp: &timestamp };
    let failed = |error: std::io::Error| Failure::file(path, &error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut file = std::fs::File::options().create(true).append(true).open(path).map_err(failed)?;
    for trace in traces::traces(task, &answer.judgement, &answer.errors, &setting) {
        writeln!(file, "{trace}").map_err(failed)?;
    }
    Ok(())
}

fn show(task: &Task, answer: &Answer, path: Option<&Path>) -> String {
    let base = task.against.as_ref().map_or("the reference", |program| program.name.as_str());
    let mut text = format!("{} against {base}, {}\n", task.candidate.name, task.name);
    text += &report::terminal::judgement(&answer.judgement);
    let libraries: Vec<String> = answer.libraries.iter().map(|(name, version)| format!("{name} {version}")).collect();
    if !libraries.is_empty() {
        let _ = writeln!(text, "run by {}", libraries.join(", "));
    }
    text += judge::promise(answer.judgement.trust);
    text + &path.map_or_else(String::new, |path| format!("traces: {}\n", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Verb};
    use clap::Parser;

    #[test]
    fn an_option_that_means_nothing_is_refused() {
        let check = |options: &[&str], format: Option<Format>, fits: bool| {
            let line = Args::parse_from([&["rooflab", "judge", "p"], options].concat());
            let Verb::Judge(args) = line.verb else { panic!() };
            assert_eq!(only_what_fits(&args, format).is_ok(), fits, "{options:?} {format:?}");
        };
        check(&["c"], Some(Format::KernelBench), true);
        check(&["c", "--traces", "t"], Some(Format::Bench), true);
        check(&["c", "--traces", "t"], None, false);
        check(&["c", "--metric", "m"], Some(Format::Evolve), true);
        check(&["c", "--metric", "m"], Some(Format::Bench), false);
        check(&["c", "--workloads", "w"], None, true);
        check(&["c", "--workloads", "w"], Some(Format::KernelBench), false);
        check(&["c", "--flag", "-O2"], Some(Format::Evolve), false);
        check(&["--batch", "d", "--out", "o"], Some(Format::Bench), false);
        check(&["--batch", "d", "--out", "o"], None, true);
    }

    #[test]
    fn a_name_becomes_a_file() {
        let check = |name: &str, expected: &str| assert_eq!(file_name(name), expected);
        check("rmsnorm_v1.2", "rmsnorm_v1.2");
        check("../../etc/passwd", "-..-etc-passwd");
        check("a b/c", "a-b-c");
    }
}
