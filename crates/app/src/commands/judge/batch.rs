//! `rooflab judge --batch`: a queue of candidates on a machine that may have no ledger, no network and no model.
//!
//! Must not open a ledger, and must not judge twice what its file already holds.

use crate::args::JudgeArgs;
use crate::batch::{Asked, Book, Header};
use crate::notice::Voice;
use crate::outcome::{Done, Failure, Outcome};
use crate::plan::{self, Confinement};
use crate::session::{self, Bench};
use crate::terminal::Quiet;
use crate::text;
use ::judge::message::Ready;
use map::Depth;
use model::{Arm, Judgement};
use problems::Problem;
use std::path::{Path, PathBuf};

/// Extensions of candidates' files.
const KINDS: [&str; 7] = ["c", "cc", "cpp", "cxx", "rs", "py", "json"];

/// Runs it.
///
/// # Errors
/// When the queue or the file make no sense, or the environment fails. What was judged until then is in the file.
pub fn run(args: &JudgeArgs, queue: &Path) -> Outcome {
    let folder = super::problem_folder(args)?;
    let problem = session::problem(&folder)?;
    let asked = questions(args, &problem, queue)?;
    let out = &args.place.out;
    let mut book = Book::open(out)?;
    let header = match book.header() {
        Some(header) => header.clone(),
        None => book.begin(header(args, &problem)?)?,
    };
    header.holds_for(&problem, &map::fingerprint()).map_err(|why| {
        Failure::usage(format!("{} is another batch: {why}", out.display()), "name another file with --out")
    })?;
    let todo: Vec<&Asked> = asked.iter().filter(|asked| !book.holds(asked)).collect();
    if todo.len() < asked.len() {
        println!("{} of {} candidates are judged already", asked.len() - todo.len(), asked.len());
    }
    if !todo.is_empty() {
        let confinement = Confinement::from_flag(header.unconfined);
        let bench = Bench { folder, confinement, map: header.map, voice: Voice::new(Quiet) };
        let (mut judge, _) = bench.open_aloud(Ready::Shortest)?;
        for asked in todo {
            let judgement = judge.judge(&asked.job)?;
            println!("{}", line(asked, &judgement));
            book.append(asked, judgement)?;
        }
    }
    println!("{} candidates are judged in {}", asked.len(), out.display());
    Ok(Done::Complete)
}

/// One question a file, in the order of their names.
fn questions(args: &JudgeArgs, problem: &Problem, queue: &Path) -> Result<Vec<Asked>, Failure> {
    let entries = std::fs::read_dir(queue)
        .map_err(|error| Failure::usage(format!("{}: {error}", queue.display()), "name a folder of candidates"))?;
    let is_candidate = |path: &PathBuf| path.extension().is_some_and(|e| KINDS.iter().any(|kind| e == *kind));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_candidate).collect();
    files.sort();
    if files.is_empty() {
        let what = format!("{} holds no candidate", queue.display());
        return Err(Failure::usage(
            what,
            "a candidate is a .c, .cpp, .rs or .py file, or a .json with language, text and flags",
        ));
    }
    let against = super::against(args, problem)?;
    files
        .iter()
        .map(|path| {
            let candidate = Arm::Source(plan::source(path, &args.flags)?);
            let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            Ok(Asked { file, job: super::job(args, problem, [candidate, against.clone()])? })
        })
        .collect()
}

fn header(args: &JudgeArgs, problem: &Problem) -> Result<Header, Failure> {
    let map = if args.no_map {
        None
    } else {
        eprintln!("measuring what this machine sustains, about 30 s (--no-map leaves it out)");
        Some(map::measure(Depth::Quick, &mut |_| {})?)
    };
    Ok(Header {
        problem: problem.name.clone(),
        problem_digest: problem.digest,
        machine: map::fingerprint(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        unconfined: args.unconfined,
        map,
    })
}

fn line(asked: &Asked, judgement: &Judgement) -> String {
    let effects: Vec<String> = judgement.shapes.iter().filter_map(text::effect).collect();
    let verdict = judgement.verdict.to_string();
    let verdict = verdict.lines().next().unwrap_or_default();
    format!("{:<32} {verdict}  {}", asked.file, effects.join(", ")).trim_end().to_owned()
}
