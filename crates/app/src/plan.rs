//! From what was parsed to what will be done: paths found, defaults filled in, contradictions refused.
//!
//! Looks at the file system; writes nothing to it and starts nothing.

use crate::args::{PlaceArgs, RunArgs, StoreArgs};
use crate::outcome::Failure;
use crate::proposers::ProposerPlan;
use model::{Arm, Language, Seconds, Source};
use std::path::{Path, PathBuf};

/// The folder for results unless --out says otherwise.
const DEFAULT_OUT: &str = "rooflab-out";
/// The ledger's file in that folder.
const LEDGER_FILE: &str = "ledger.db";

/// Where problems lie.
const PROBLEMS: &str = "problems";

/// Where results are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Folder of the campaigns' folders.
    pub out: PathBuf,
    /// The ledger's file.
    pub ledger: PathBuf,
}

/// Who reads the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// People.
    Text,
    /// Programs.
    Json,
}

impl Format {
    /// From `--json`.
    pub fn from_flag(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// Whether a sandbox that can't be set up ends the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// It does.
    Required,
    /// It does not, and every record says so.
    Waived,
}

impl Confinement {
    /// From `--unconfined`.
    pub fn from_flag(unconfined: bool) -> Self {
        if unconfined { Self::Waived } else { Self::Required }
    }

    /// Whether it was waived.
    pub fn is_waived(self) -> bool {
        self == Self::Waived
    }
}

/// Where the campaign comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// A new one.
    Fresh {
        /// Of every choice of the search.
        seed: u64,
        /// Written before the run.
        hypothesis: String,
        /// Time and candidates for the search.
        limits: Limits,
    },
    /// The problem's unfinished one, with what is left of its budget.
    Resume,
}

/// When the search ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Time, if limited.
    pub budget: Option<Seconds>,
    /// Candidates at most, if limited.
    pub candidates: Option<u32>,
}

impl Limits {
    /// The problem's own budget when no limit was asked for.
    #[must_use]
    pub fn or(self, budget: Seconds) -> Self {
        if self.budget.is_none() && self.candidates.is_none() { Self { budget: Some(budget), ..self } } else { self }
    }
}

/// Who chooses the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The user did.
    Made,
    /// Measurement shall, and what can't pay is refused.
    Worthwhile,
    /// Measurement shall, and what can't pay is taken too.
    Anyway,
}

/// A resolved `rooflab run`.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// The problem's folder; while the choice isn't made, the folder of problems.
    pub folder: PathBuf,
    /// Who chooses it.
    pub choice: Choice,
    /// Where results are kept.
    pub place: Place,
    /// New or resumed.
    pub start: Start,
    /// Length of the sustained rung.
    pub sustained: Seconds,
    /// Sandbox or not.
    pub confinement: Confinement,
    /// For whom.
    pub format: Format,
    /// Who proposes.
    pub proposers: ProposerPlan,
}

impl RunPlan {
    /// Resolves.
    ///
    /// # Errors
    /// When there is no such problem.
    pub fn new(args: &RunArgs) -> Result<Self, Failure> {
        let start = if args.resume {
            Start::Resume
        } else {
            let limits = Limits { budget: args.budget, candidates: args.candidates };
            Start::Fresh { seed: args.seed, hypothesis: args.hypothesis.clone(), limits }
        };
        let choice = match (args.target.from_score, args.target.anyway) {
            (false, _) => Choice::Made,
            (true, false) => Choice::Worthwhile,
            (true, true) => Choice::Anyway,
        };
        let given = args.problem.as_deref().unwrap_or(Path::new(PROBLEMS));
        Ok(Self {
            folder: if choice == Choice::Made { problem_folder(given)? } else { given.to_owned() },
            choice,
            place: Place::new(&args.place),
            start,
            sustained: args.sustained,
            confinement: Confinement::from_flag(args.unconfined),
            format: Format::from_flag(args.json),
            proposers: ProposerPlan::new(&args.proposer)?,
        })
    }
}

impl Place {
    /// Resolves.
    pub fn new(args: &PlaceArgs) -> Self {
        let ledger = args.ledger.clone().unwrap_or_else(|| args.out.join(LEDGER_FILE));
        Self { out: args.out.clone(), ledger }
    }

    /// Resolves for a command that reads.
    pub fn of_store(args: &StoreArgs) -> Self {
        let out = PathBuf::from(DEFAULT_OUT);
        let ledger = args.ledger.clone().unwrap_or_else(|| out.join(LEDGER_FILE));
        Self { out, ledger }
    }
}

/// Finds a problem's folder from its path, its problem.toml, or its name under problems/.
///
/// # Errors
/// Names the problems that there are.
pub fn problem_folder(given: &Path) -> Result<PathBuf, Failure> {
    let candidates = [given.to_owned(), given.parent().unwrap_or(given).to_owned(), Path::new("problems").join(given)];
    let is_manifest = given.file_name().is_some_and(|name| name == "problem.toml");
    let found = candidates
        .iter()
        .enumerate()
        .find(|(i, folder)| (*i != 1 || is_manifest) && folder.join("problem.toml").is_file())
        .map(|(_, folder)| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
    found.ok_or_else(|| {
        let what = if given.is_dir() {
            format!("{} holds no problem.toml", given.display())
        } else {
            format!("there is no problem at {}", given.display())
        };
        Failure::usage(what, format!("{}; `rooflab new NAME` makes one", known_problems()))
    })
}

/// The problems in a folder, by name; a problem's own folder is one.
pub fn problems_in(folder: &Path) -> Vec<PathBuf> {
    let is_problem = |path: &PathBuf| path.join("problem.toml").is_file();
    let inside = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok().map(|e| e.path()));
    let mut found: Vec<PathBuf> = inside.chain([folder.to_owned()]).filter(is_problem).collect();
    found.sort();
    found
}

fn known_problems() -> String {
    let names: Vec<String> = problems_in(Path::new(PROBLEMS)).iter().map(|path| path.display().to_string()).collect();
    if names.is_empty() {
        "a problem is a folder with a problem.toml".into()
    } else {
        format!("try {}", names.join(", "))
    }
}

/// What one side of a comparison is: `builtin:NAME`, a file, or a baseline's name.
///
/// # Errors
/// Names the baselines when the text is none of these, or the file when it can't be read.
pub fn arm(text: &str, baselines: &[String], flags: &[String]) -> Result<Arm, Failure> {
    if let Some(name) = text.strip_prefix("builtin:") {
        return Ok(Arm::Baseline(name.to_owned()));
    }
    if Path::new(text).is_file() {
        return source(Path::new(text), flags).map(Arm::Source);
    }
    let name = text.split_once('+').map_or(text, |(name, _)| name);
    if baselines.iter().any(|known| known == name) {
        return Ok(Arm::Baseline(text.to_owned()));
    }
    Err(Failure::usage(
        format!("`{text}` is neither a file nor a baseline of this problem"),
        format!("its baselines are {}; builtin:NAME names one compiled into rooflab", baselines.join(", ")),
    ))
}

/// Workloads by name. Names may hold commas themselves (`m=4,n=8`), so the longest known name is taken each time.
///
/// # Errors
/// Names the first that is not known, and those that are.
pub fn workloads(text: &str, known: &[String]) -> Result<Vec<String>, Failure> {
    let mut rest = text.trim();
    let mut names = Vec::new();
    while !rest.is_empty() {
        let fits =
            |name: &&String| rest.strip_prefix(name.as_str()).is_some_and(|t| t.is_empty() || t.starts_with(','));
        let Some(name) = known.iter().filter(fits).max_by_key(|name| name.len()) else {
            let what = format!("`{rest}` is no workload of this problem");
            return Err(Failure::usage(what, format!("its workloads are {}", known.join(" "))));
        };
        names.push(name.clone());
        rest = rest[name.len()..].trim_start_matches(',').trim();
    }
    Ok(names)
}

/// Reads a candidate: C, C++, Rust or Python text by its extension, or a source with its flags as JSON, which is how
/// campaigns keep their winner.
///
/// # Errors
/// When the file can't be read, or is JSON but no source.
pub fn source(path: &Path, flags: &[String]) -> Result<Source, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display()), help(&error)))?;
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let mut source = if extension == "json" {
        serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format!("{}: {error}", path.display()), "a JSON candidate has language, text and flags")
        })?
    } else {
        Source { language: Language::of_extension(&extension), text, flags: Vec::new() }
    };
    source.flags.extend_from_slice(flags);
    Ok(source)
}

fn help(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::InvalidData => {
            "name a C, C++, Rust or Python file; libraries are for `rooflab compare --problem`"
        }
        _ => "name a C, C++, Rust or Python file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Verb};
    use clap::Parser;

    fn problem() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("problem.toml"), "").unwrap();
        folder
    }

    fn plan(folder: &Path, rest: &str) -> RunPlan {
        let words = ["rooflab", "run", folder.to_str().unwrap()].into_iter().chain(rest.split_whitespace());
        let Verb::Run(run) = Args::parse_from(words).verb else { panic!() };
        RunPlan::new(&run).unwrap()
    }

    #[test]
    fn limits() {
        let folder = problem();
        let check = |rest: &str, time: Option<f64>, count: Option<u32>| {
            let Start::Fresh { limits, .. } = plan(folder.path(), rest).start else { panic!() };
            assert_eq!(limits.or(Seconds(300.0)), Limits { budget: time.map(Seconds), candidates: count }, "{rest}");
        };
        check("", Some(300.0), None);
        check("--budget 90s", Some(90.0), None);
        check("--candidates 20", None, Some(20));
        check("--candidates 20 --budget 1m", Some(60.0), Some(20));
    }

    #[test]
    fn resume_is_another_start() {
        let folder = problem();
        assert_eq!(plan(folder.path(), "--resume").start, Start::Resume);
    }

    #[test]
    fn the_choice_can_be_left_to_measurement() {
        let folder = problem();
        let chosen = |rest: &str| plan(folder.path(), rest).choice;
        assert_eq!(chosen(""), Choice::Made);
        assert_eq!(chosen("--from-score"), Choice::Worthwhile);
        assert_eq!(chosen("--from-score --anyway"), Choice::Anyway);
        assert!(Args::try_parse_from(["rooflab", "evolve"]).is_err());
        assert!(Args::try_parse_from(["rooflab", "evolve", "p", "--anyway"]).is_err());
        assert!(Args::try_parse_from(["rooflab", "evolve", "--from-score"]).is_ok());
    }

    #[test]
    fn the_ledger_lies_in_the_output_folder_unless_named() {
        let folder = problem();
        assert_eq!(plan(folder.path(), "--out a").place.ledger, Path::new("a/ledger.db"));
        assert_eq!(plan(folder.path(), "--out a --ledger b.db").place.ledger, Path::new("b.db"));
    }

    #[test]
    fn a_problem_is_found_by_folder_or_manifest() {
        let folder = problem();
        let expected = folder.path().canonicalize().unwrap();
        assert_eq!(problem_folder(folder.path()).unwrap(), expected);
        assert_eq!(problem_folder(&folder.path().join("problem.toml")).unwrap(), expected);
        assert!(matches!(problem_folder(&folder.path().join("nothing")), Err(Failure::Usage(_))));
        assert!(matches!(problem_folder(&folder.path().join("other.toml")), Err(Failure::Usage(_))));
    }

    #[test]
    fn arms() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.c");
        std::fs::write(&file, "int x;").unwrap();
        let known = ["naive".to_owned(), "stock".to_owned()];
        let check = |text: &str, expected: Option<Arm>| assert_eq!(arm(text, &known, &[]).ok(), expected, "{text}");
        check("builtin:stock", Some(Arm::Baseline("stock".into())));
        check("builtin:stock+2%", Some(Arm::Baseline("stock+2%".into())));
        check("stock", Some(Arm::Baseline("stock".into())));
        check("naive+2%", Some(Arm::Baseline("naive+2%".into())));
        check(file.to_str().unwrap(), Some(Arm::Source(Source::c("int x;"))));
        check("missing.c", None);
    }

    #[test]
    fn workloads_by_name() {
        let known = ["len=128", "len=1024", "m=4,n=8", "m=4"].map(String::from);
        let check = |text: &str, expected: &[&str]| assert_eq!(workloads(text, &known).unwrap(), expected, "{text}");
        check("len=128", &["len=128"]);
        check("len=1024, len=128", &["len=1024", "len=128"]);
        check("m=4,n=8,m=4", &["m=4,n=8", "m=4"]);
        let Err(Failure::Usage(report)) = workloads("len=12", &known) else { panic!() };
        assert!(report.to_string().contains("`len=12` is no workload"), "{report}");
    }

    #[test]
    fn a_json_source_keeps_its_flags() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("w.json");
        let mut expected = Source::c("int x;");
        expected.flags = vec!["-O2".into()];
        std::fs::write(&file, serde_json::to_string(&expected).unwrap()).unwrap();
        expected.flags.push("-funroll-loops".into());
        assert_eq!(source(&file, &["-funroll-loops".into()]).unwrap(), expected);
    }
}
