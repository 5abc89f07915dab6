//! Judges candidates for problems in other people's formats: the reference answers in a process of its own.
//!
//! Must not load a reference or a candidate into this process: both are somebody's code, and each runs confined, the
//! reference as oracle in one process, as base of the comparison in another, never in the candidate's.

mod check;
mod describe;
mod draw;
pub mod evolve;
mod pair;
mod stage;

use crate::builder::Builder;
use crate::cores::Cores;
use crate::judge::{EnvError, coins};
use crate::measure::unmeasured;
use crate::message::{Answer, Question};
use crate::outcome::combined;
use crate::pairing::{Of, Spent};
use crate::python::{Call, Framework, Interpreters, Item, PythonCode, Text};
use crate::runner::Code;
use crate::sandbox::Confinement;
use ::foreign::traces::Errors;
use ::foreign::{Dtype, Input, Program, Shape, Style, Task};
use model::{Digest, Judgement, Language, Overhead, Seconds, ShapeJudgement, Source, Trust, Verdict, Workload};
use pair::Pairs;
use rand_chacha::ChaCha12Rng;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The means to judge one task.
struct Bench {
    builder: Builder,
    interpreters: Interpreters,
    confinement: Confinement,
    cores: Cores,
    coins: ChaCha12Rng,
    /// What tensors are to the reference, and to whoever does not say otherwise.
    framework: Framework,
}

/// Answers a question.
///
/// # Errors
/// The environment's failures, and a reference that doesn't work; the candidate's are in the judgement.
pub fn answer(question: &Question) -> Result<Answer, EnvError> {
    let begin = Instant::now();
    let confinement = Confinement::from_flag(question.terms.unconfined);
    let cores = Cores::detect(0).map_err(EnvError::Problem)?;
    cores.pin();
    let mut bench = Bench {
        builder: Builder::new(confinement)?,
        interpreters: Interpreters::default(),
        confinement,
        cores,
        coins: coins(None),
        framework: framework(&question.task),
    };
    let task = &question.task;
    let base = task.against.as_ref().unwrap_or(&task.reference);
    let mut answer = Answer {
        judgement: Judgement {
            candidate: task.candidate.digest(),
            against: base.digest(),
            verdict: Verdict::Undecided,
            shapes: Vec::new(),
            trust: trust(confinement, &task.candidate),
            artefact: None,
            log: String::new(),
            remarks: task.remarks.clone(),
            overhead: Overhead::default(),
        },
        errors: Vec::new(),
        libraries: Vec::new(),
    };
    let mut spent = Spent::default();
    answer.judgement.verdict = bench.shapes(question, &mut answer, &mut spent)?;
    answer.libraries = bench.interpreters.libraries();
    let overhead = &mut answer.judgement.overhead;
    (overhead.runners, overhead.draw) = (spent.runners.into(), spent.draw.into());
    (overhead.calls, overhead.check) = (spent.calls.into(), spent.check.into());
    overhead.total = begin.elapsed().into();
    Ok(answer)
}

fn trust(confinement: Confinement, candidate: &Program) -> Trust {
    match (confinement, candidate.language) {
        (Confinement::Unconfined, _) => Trust::Unconfined,
        (Confinement::Confined, Language::Python) => Trust::Open,
        (Confinement::Confined, _) => Trust::Sealed,
    }
}

/// The reference's: PyTorch where it imports it, or a tensor is of a type that NumPy lacks.
fn framework(task: &Task) -> Framework {
    let is_bf16 = |shape: &Shape| {
        let tensors = shape.tensors().map(|(tensor, _)| tensor).chain(&shape.outputs);
        tensors.map(|tensor| tensor.dtype).any(|dtype| dtype == Dtype::Bf16)
    };
    if imports_torch(&task.reference) || task.shapes.iter().any(is_bf16) { Framework::Torch } else { Framework::Numpy }
}

fn imports_torch(program: &Program) -> bool {
    program.files.iter().any(|(_, text)| Framework::of(text) == Framework::Torch)
}

impl Bench {
    fn shapes(&mut self, question: &Question, answer: &mut Answer, spent: &mut Spent) -> Result<Verdict, EnvError> {
        let task = &question.task;
        let deadline = Instant::now() + Duration::from(question.terms.cap);
        let described = if task.shapes.is_empty() { vec![self.describe(task)?] } else { Vec::new() };
        let shapes = if described.is_empty() { &task.shapes } else { &described };
        // All of them, also after one that failed: a benchmark wants to know of each.
        for (i, shape) in shapes.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now()) / (shapes.len() - i) as u32;
            let (judged, errors) = self.shape(question, (shape, left), &mut answer.judgement, spent)?;
            answer.judgement.shapes.push(judged);
            answer.errors.push(errors);
        }
        Ok(combined(&answer.judgement.shapes))
    }

    fn shape(
        &mut self,
        question: &Question,
        (shape, left): (&Shape, Duration),
        judgement: &mut Judgement,
        spent: &mut Spent,
    ) -> Result<(ShapeJudgement, Errors), EnvError> {
        let task = &question.task;
        let begin = Instant::now();
        let reference = self.code(&task.reference, shape)?.map_err(EnvError::Against)?;
        let base = match &task.against {
            Some(base) => self.code(base, shape)?.map_err(EnvError::Against)?,
            None => reference.clone(),
        };
        let candidate = self.code(&task.candidate, shape)?;
        let draws = task.draws.as_ref().map(|program| self.drawing(program, shape)).transpose()?;
        judgement.overhead.build = judgement.overhead.build + Seconds::from(begin.elapsed());
        let candidate = match candidate {
            Ok(code) => code,
            Err(verdict) => {
                let workload = Workload { name: shape.name.clone(), axes: shape.axes.clone() };
                return Ok((ShapeJudgement { verdict, ..unmeasured(&workload) }, Errors::default()));
            }
        };
        judgement.artefact = digest(&candidate);
        if let Code::Artefact(artefact) = &candidate {
            judgement.log.clone_from(&artefact.log);
        }
        let stage = stage::Stage::new(shape, [base, candidate, reference], draws)?;
        let mut pairs = Pairs::new(&stage, self.confinement, &self.cores, &mut self.coins)?;
        let judged = pairs.judge(&question.terms, begin + left, spent)?;
        for remark in pairs.remarks() {
            if !judgement.remarks.contains(&remark) {
                judgement.remarks.push(remark);
            }
        }
        Ok(judged)
    }

    /// The code of a program, ready for a runner.
    fn code(&mut self, program: &Program, shape: &Shape) -> Result<Result<Code, Verdict>, EnvError> {
        if program.language != Language::Python {
            let source =
                Source { language: program.language, text: program.text().to_owned(), flags: program.flags.clone() };
            let built = self.builder.candidate(&source, &program.unit(shape), None)?;
            return Ok(built.map(Code::Artefact));
        }
        let mut items = Vec::new();
        let mut memories = 0;
        for input in &shape.inputs {
            items.push(match input {
                Input::Tensor(..) => {
                    memories += 1;
                    Item::Array(memories - 1)
                }
                Input::Scalar(value, _) => Item::Value(value.clone()),
            });
        }
        let outputs: Vec<usize> = (memories..memories + shape.outputs.len()).collect();
        if program.style == Style::Writes {
            items.extend(outputs.iter().copied().map(Item::Array));
        }
        let call = Call { items, outputs, prepare: Vec::new(), strict: true, seeded: false };
        self.python(program, call).map(|code| Ok(Code::Python(code)))
    }

    /// A function that draws the inputs: it gets the axes that vary, and a device.
    fn drawing(&mut self, program: &Program, shape: &Shape) -> Result<Code, EnvError> {
        let values: serde_json::Map<String, serde_json::Value> =
            shape.axes.iter().map(|(name, value)| (name.clone(), (*value).into())).collect();
        let items = vec![Item::Value(values.into()), Item::Value("cpu".into())];
        let outputs = (0..shape.tensors().count()).collect();
        let call = Call { items, outputs, prepare: Vec::new(), strict: true, seeded: true };
        Ok(Code::Python(self.python(program, call)?))
    }

    fn python(&mut self, program: &Program, call: Call) -> Result<Rc<PythonCode>, EnvError> {
        let framework = if imports_torch(program) { Framework::Torch } else { self.framework };
        let interpreter = self.interpreters.get(framework)?;
        let text = Text { files: &program.files, main: &program.main, entry: &program.entry, framework };
        Ok(Rc::new(PythonCode::new(interpreter, &text, call)?))
    }
}

fn digest(code: &Code) -> Option<Digest> {
    match code {
        Code::Artefact(artefact) => Some(artefact.digest),
        Code::Python(python) => Some(python.digest),
        Code::Kernel { .. } => None,
    }
}

/// Whose failure it is, for a process that is the oracle or draws: the problem's.
fn of_the_problem(what: &str, verdict: &Verdict) -> EnvError {
    EnvError::Problem(format!("the problem's {what} does not work: {verdict}"))
}

/// A failure of one of the two sides.
fn of_a_side(of: Of, verdict: Verdict) -> Result<Verdict, EnvError> {
    match of {
        Of::Candidate => Ok(verdict),
        Of::Against => Err(EnvError::Against(verdict)),
    }
}
