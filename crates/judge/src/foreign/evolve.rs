//! Judges a program by its task's own evaluator, in our sandbox, against the initial program: repeats, a coin-flipped
//! order, and the noise of the initial program against itself.
//!
//! Must not take a score for a measurement of ours: evaluator and program share a process, so that the program can say
//! whatever the evaluator could. Every answer says so.

use crate::builder::{Builder, Job, open_plain};
use crate::errand::{self, Errand};
use crate::judge::{EnvError, coins};
use crate::message::{EvolveAnswer, EvolveQuestion};
use crate::outcome::{decided, design};
use crate::python::{self, Framework, Interpreters};
use crate::sandbox::{Confinement, SandboxError};
use ::foreign::evolve::{Evaluator, EvolveTask};
use model::{Estimate, Fidelity, Interval, Rule, Seconds, Stage, Trust, Verdict};
use rand::RngExt;
use rand_chacha::ChaCha12Rng;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const DRIVER: &str = include_str!("evaluate.py");
/// Evaluations of the initial program in pairs, that set the scale of the noise.
const NOISE_UNITS: usize = 4;
/// The least noise that is believed, as a share of the score: an evaluator without any would decide on rounding.
const NOISE_LEAST: f64 = 1e-6;
/// One evaluation takes at most this.
const LIMIT: Duration = Duration::from_secs(600);
/// Largest file of metrics that is read, bytes.
const METRICS: u64 = 1 << 20;
/// What a score is measured in when the initial program's is zero.
const UNIT: f64 = 1.0;
/// Said with every answer.
const WARNING: &str = "the evaluator itself is trusted: it shares its process with the program, which can say whatever the \
                       evaluator could; contained it is, and no more";

type Metrics = BTreeMap<String, f64>;

/// The means to evaluate programs of one task.
struct Judging<'a> {
    question: &'a EvolveQuestion,
    builder: Builder,
    interpreters: Interpreters,
    confinement: Confinement,
    coins: ChaCha12Rng,
    deadline: Instant,
    /// Every evaluation's metrics: initial, candidate.
    seen: [Vec<Metrics>; 2],
}

/// Why there is no score.
enum Broken {
    Environment(EnvError),
    Program(usize, Verdict),
}

impl From<EnvError> for Broken {
    fn from(error: EnvError) -> Self {
        Self::Environment(error)
    }
}

impl From<SandboxError> for Broken {
    fn from(error: SandboxError) -> Self {
        Self::Environment(error.into())
    }
}

/// Answers a question.
///
/// # Errors
/// The environment's failures, and an initial program that does not evaluate.
pub fn answer(question: &EvolveQuestion) -> Result<EvolveAnswer, EnvError> {
    let begin = Instant::now();
    let confinement = Confinement::from_flag(question.terms.unconfined);
    if confinement == Confinement::Confined {
        readable(&question.task)?;
    }
    let mut judging = Judging {
        question,
        builder: Builder::new(confinement)?,
        interpreters: Interpreters::default(),
        confinement,
        coins: coins(None),
        deadline: begin + Duration::from(question.terms.cap),
        seen: [Vec::new(), Vec::new()],
    };
    let mut answer = EvolveAnswer {
        verdict: Verdict::Undecided,
        metric: question.task.metric.clone().unwrap_or_default(),
        gain: None,
        units: Vec::new(),
        means: BTreeMap::new(),
        evaluations: 0,
        trust: if question.terms.unconfined { Trust::Unconfined } else { Trust::Open },
        remarks: vec![WARNING.to_owned()],
        total: Seconds(0.0),
    };
    if let Some(line) = question.task.change_outside_blocks() {
        let detail = format!("it changes text outside of the task's EVOLVE-BLOCK: {line}");
        answer.verdict = Verdict::Refused { rule: Rule::ForbiddenBuild, detail };
        return Ok(answer);
    }
    answer.verdict = match judging.run(&mut answer) {
        Ok(verdict) | Err(Broken::Program(1, verdict)) => verdict,
        Err(Broken::Program(_, verdict)) => return Err(EnvError::Against(verdict)),
        Err(Broken::Environment(error)) => return Err(error),
    };
    answer.evaluations = judging.seen.iter().map(|seen| seen.len() as u32).sum();
    answer.means = judging.means();
    answer.total = begin.elapsed().into();
    Ok(answer)
}

impl Judging<'_> {
    fn run(&mut self, answer: &mut EvolveAnswer) -> Result<Verdict, Broken> {
        let first = self.evaluate(0)?;
        let (name, score) = self.score(&first, 0)?;
        answer.metric = name;
        let scale = if score.abs() > f64::EPSILON { score.abs() } else { UNIT };
        // The candidate's gate: one evaluation, before time goes into the noise.
        let candidate = self.evaluate(1)?;
        self.score(&candidate, 1)?;
        let terms = self.question.terms;
        if terms.fidelity == Fidelity::Gate {
            return Ok(Verdict::Equivalent);
        }
        let mut same = Vec::new();
        while same.len() < NOISE_UNITS && (same.len() < 2 || Instant::now() < self.deadline) {
            same.push(self.unit([0, 0], scale)?);
        }
        let sigma = stats::robust::mad_sigma(&same).max(NOISE_LEAST);
        let design = design(terms.fidelity, terms.margin, sigma).expect("a gate has returned");
        let mut session = stats::Session::new(design);
        loop {
            let y = self.unit([0, 1], scale)?;
            answer.units.push(-y);
            let progress = session.push(y);
            if progress == stats::Progress::Continue && Instant::now() < self.deadline {
                continue;
            }
            let summary = session.summary();
            let interval = Interval { low: -summary.estimate.high, high: -summary.estimate.low };
            answer.gain = Some(Estimate { value: -summary.estimate.value, interval });
            return Ok(decided(&summary, progress));
        }
    }

    /// One evaluation of each, in an order that a coin decides: how much lower the second's score is, as a share.
    fn unit(&mut self, programs: [usize; 2], scale: f64) -> Result<f64, Broken> {
        let mut scores = [0.0; 2];
        for i in if self.coins.random() { [0, 1] } else { [1, 0] } {
            let metrics = self.evaluate(programs[i])?;
            scores[i] = self.score(&metrics, programs[i])?.1;
        }
        Ok((scores[0] - scores[1]) / scale)
    }

    /// The metric that decides: higher is better, as it is to both frameworks.
    fn score(&self, metrics: &Metrics, program: usize) -> Result<(String, f64), Broken> {
        let invalid = |cause: String| Broken::Program(program, Verdict::Failed { stage: Stage::Invalid, cause });
        let (name, value) = match &self.question.task.metric {
            Some(name) => (name.clone(), metrics.get(name).copied()),
            None => match metrics.get("combined_score") {
                Some(value) => ("combined_score".to_owned(), Some(*value)),
                None if metrics.is_empty() => (String::new(), None),
                None => ("mean of all".to_owned(), Some(metrics.values().sum::<f64>() / metrics.len() as f64)),
            },
        };
        match value {
            // Comparisons with NaN are false both ways: it must not come as far as one.
            Some(value) if value.is_finite() => Ok((name, value)),
            Some(_) => Err(invalid(format!("the metric `{name}` is no finite number"))),
            None => {
                let known: Vec<&str> = metrics.keys().map(String::as_str).collect();
                Err(invalid(format!("no metric `{name}`: the evaluator gave {}", known.join(", "))))
            }
        }
    }

    /// One evaluation in a sandbox of its own.
    fn evaluate(&mut self, program: usize) -> Result<Metrics, Broken> {
        let task = &self.question.task;
        let text = if program == 0 { &task.initial } else { &task.candidate };
        let interpreter = self.interpreters.get(Framework::Plain)?;
        let job = self.builder.job().map_err(SandboxError::Os)?;
        job.write("program.py", text).map_err(SandboxError::Os)?;
        let mut sees = interpreter.folders.clone();
        sees.push(task.folder.clone());
        let arguments = arguments(task, &job, self.confinement, (&sees, &interpreter.program()));
        let errand = Errand { arguments: &arguments, writable: job.path(), sees: &sees, limit: LIMIT };
        let (log, status) = errand::run(self.confinement, &errand)?;
        let failed = |stage, cause: &str| {
            let said = log.trim().lines().last().unwrap_or_default();
            let fix = if said.starts_with("ModuleNotFoundError") { python::NAME_ANOTHER } else { "" };
            Broken::Program(program, Verdict::Failed { stage, cause: format!("{cause}: {said}{fix}") })
        };
        if libc::WIFSIGNALED(status) {
            return Err(failed(Stage::TimedOut, "a limit of time or memory, or a signal, ended the evaluation"));
        }
        let read = || -> std::io::Result<String> {
            let mut text = String::new();
            open_plain(&job.path().join("metrics.json"))?.take(METRICS).read_to_string(&mut text)?;
            Ok(text)
        };
        let Ok(text) = read() else { return Err(failed(Stage::Crashed, "the evaluation gave no metrics")) };
        let metrics: BTreeMap<String, Option<f64>> = serde_json::from_str(&text)
            .map_err(|error| failed(Stage::Invalid, &format!("the metrics are no numbers by name ({error})")))?;
        let metrics: Metrics = metrics.into_iter().map(|(name, value)| (name, value.unwrap_or(f64::NAN))).collect();
        self.seen[program].push(metrics.clone());
        Ok(metrics)
    }

    /// Means of every metric over all evaluations: initial, candidate.
    fn means(&self) -> BTreeMap<String, [Option<f64>; 2]> {
        let mut means: BTreeMap<String, [Option<f64>; 2]> = BTreeMap::new();
        for (program, seen) in self.seen.iter().enumerate() {
            for name in seen.iter().flat_map(Metrics::keys) {
                let values: Vec<f64> = seen.iter().filter_map(|metrics| metrics.get(name).copied()).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                means.entry(name.clone()).or_default()[program] = Some(mean).filter(|mean| mean.is_finite());
            }
        }
        means
    }
}

/// A role that root starts is another user, who can't read what root keeps to itself.
fn readable(task: &EvolveTask) -> Result<(), EnvError> {
    // SAFETY: a plain system call.
    let is_root = unsafe { libc::geteuid() } == 0;
    let others_may =
        |path: &Path, what: u32| fs::metadata(path).is_ok_and(|about| about.permissions().mode() & what == what);
    if !is_root || (others_may(&task.folder, 0o5) && others_may(&task.folder.join(&task.evaluator), 0o4)) {
        return Ok(());
    }
    Err(EnvError::Job(format!(
        "root runs the evaluator as nobody, who may not read {0}: `chmod -R o+rX {0}`, or don't start rooflab as root",
        task.folder.display()
    )))
}

/// The role's arguments.
fn arguments(
    task: &EvolveTask,
    job: &Job,
    confinement: Confinement,
    (sees, program): (&[PathBuf], &str),
) -> Vec<String> {
    let kind = match task.kind {
        Evaluator::Returns => "returns",
        Evaluator::Writes => "writes",
    };
    let path = |name: &str| job.path().join(name).display().to_string();
    let folder = task.folder.display().to_string();
    let mut arguments = vec![
        protocol::EVALUATOR_ROLE.to_owned(),
        confinement.word().to_owned(),
        job.path().display().to_string(),
        protocol::folders(sees),
    ];
    arguments.extend([program, "-I", "-B", "-c", DRIVER, kind].map(str::to_owned));
    arguments.extend([folder, task.evaluator.clone(), path("program.py"), path("metrics.json")]);
    arguments
}
