//! The judge: one loaded problem, and the answers to jobs about it.
//!
//! Must not write the ledger, decide by anything but `stats`, or blur the three outcomes: a candidate's failure is a
//! verdict, the environment's an error, ours a panic.

use crate::arm;
use crate::builder::Builder;
use crate::message::Opened;
use crate::pairing::{Broken, Cores, Of, Pairing, ProcessPair, Spent};
use crate::runner::{Code, Runner, StartFailure};
use crate::sandbox::{Confinement, SandboxError};
use crate::side::{Checked, Checker, Placement, Side};
use model::{
    Arm, Digest, Estimate, Fidelity, Interval, Job, Judgement, Map, Overhead, Seconds, ShapeJudgement, Slice, Trust,
    Verdict, Workload,
};
use problems::{Oracle, Problem, Tolerance};
use protocol::OP_CALL;
use rand::RngExt;
use rand_chacha::ChaCha12Rng;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Process pairs of identical arms that set the scale of the noise on a workload.
const NOISE_UNITS: usize = 5;
/// Scale of the noise before it has been measured: a CPU-bound kernel's on a shared machine.
const NOISE_GUESS: f64 = 0.003;
/// A candidate's call may take this many times the base's.
const SLOWEST: f64 = 30.0;
/// Shortest limit of a call.
const LIMIT: Duration = Duration::from_secs(2);
/// Cores, load and other things that a person may mend.
type Warnings = Vec<String>;

/// The environment failed.
#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    /// The sandbox or the OS.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The problem's folder.
    #[error("{0}")]
    Problem(String),
    /// The job makes no sense.
    #[error("{0}")]
    Job(String),
    /// What the candidate is to be compared with does not work.
    #[error("the base of the comparison does not work: {0}")]
    Against(Verdict),
}

/// What is known of one workload.
struct Known {
    workload: Workload,
    tolerance: Tolerance,
    row_cost: Duration,
}

/// A loaded problem and the means to judge.
pub struct Judge {
    /// The problem.
    pub problem: Problem,
    oracle: Oracle,
    /// The builder.
    pub builder: Builder,
    confinement: Confinement,
    cores: Cores,
    /// The judge's own coins.
    pub coins: ChaCha12Rng,
    map: Option<Map>,
    known: HashMap<String, Rc<Known>>,
    sigmas: HashMap<String, f64>,
    gated: HashMap<(Digest, String), (Checked, Duration)>,
    /// Memory, kept from job to job: populating it is most of a start.
    stage: HashMap<String, [Side; 2]>,
}

/// Result of one workload before it becomes a `ShapeJudgement`.
struct Measured {
    summary: stats::Summary,
    units: Vec<ProcessPair>,
}

impl Judge {
    /// Loads a problem: builds its oracle, derives its tolerances, refuses it when a trivial answer would pass.
    ///
    /// # Errors
    /// What is missing, and what to do about it.
    pub fn open(
        folder: &Path,
        confinement: Confinement,
        seed: Option<u64>,
        map: Option<Map>,
    ) -> Result<Self, EnvError> {
        let problem = Problem::load(folder).map_err(|e| EnvError::Problem(render(e)))?;
        let builder = Builder::new(confinement)?;
        let library = builder.oracle(&problem.oracle_unit())?;
        let oracle = Oracle::open(&problem, &library).map_err(|e| EnvError::Problem(e.to_string()))?;
        let cores = Cores::detect();
        cores.pin();
        Ok(Self {
            problem,
            oracle,
            builder,
            confinement,
            cores,
            coins: coins(seed),
            map,
            known: HashMap::new(),
            sigmas: HashMap::new(),
            gated: HashMap::new(),
            stage: HashMap::new(),
        })
    }

    /// What the app wants to know after loading.
    ///
    /// # Errors
    /// When a trivial answer passes the tolerance.
    pub fn opened(&mut self) -> Result<Opened, EnvError> {
        let workloads = self.problem.workloads.clone();
        let mut tolerances = Vec::new();
        for workload in &workloads {
            tolerances.push(self.known(workload)?.tolerance.element);
        }
        let mut warnings = Warnings::new();
        if self.cores.runner.is_none() {
            warnings.push(
                "one core: judge and runner share it, so batches are 10 ms and more and the noise is larger; give it two"
                    .to_owned(),
            );
        }
        if self.confinement == Confinement::Unconfined {
            warnings.push("unconfined: candidates run without any protection; every record says so".to_owned());
        }
        Ok(Opened {
            problem: self.problem.name.clone(),
            digest: self.problem.digest,
            workloads,
            sandbox: self.confinement.layers(),
            tolerances,
            warnings,
        })
    }

    /// What the backend can promise.
    pub fn trust(&self) -> Trust {
        match self.confinement {
            Confinement::Confined => Trust::Sealed,
            Confinement::Unconfined => Trust::Unconfined,
        }
    }

    /// The machine's map.
    pub fn map(&self) -> Option<&Map> {
        self.map.as_ref()
    }

    fn known(&mut self, workload: &Workload) -> Result<Rc<Known>, EnvError> {
        if let Some(known) = self.known.get(&workload.name) {
            return Ok(Rc::clone(known));
        }
        let seed = self.coins.random();
        let begin = Instant::now();
        let tolerance =
            Tolerance::derive(&self.problem, &self.oracle, workload, seed).map_err(|e| EnvError::Problem(render(e)))?;
        // Tolerance and trivial answers together draw the inputs and run 64 rows in both precisions.
        let row_cost = begin.elapsed() / 128;
        let known = Rc::new(Known { workload: workload.clone(), tolerance, row_cost });
        self.known.insert(workload.name.clone(), Rc::clone(&known));
        Ok(known)
    }

    /// Answers a job.
    ///
    /// # Errors
    /// The environment's failures; the candidate's are in the judgement.
    pub fn judge(&mut self, job: &Job) -> Result<Judgement, EnvError> {
        let begin = Instant::now();
        let mut judgement = Judgement {
            candidate: arm::digest(&job.candidate),
            against: arm::digest(&job.against),
            verdict: Verdict::Undecided,
            shapes: Vec::new(),
            trust: self.trust(),
            artefact: None,
            log: String::new(),
            remarks: Vec::new(),
            overhead: Overhead::default(),
        };
        let mut spent = Spent::default();
        judgement.verdict = self.judge_into(job, &mut judgement, &mut spent)?;
        judgement.overhead.runners = spent.runners.into();
        judgement.overhead.draw = spent.draw.into();
        judgement.overhead.calls = spent.calls.into();
        judgement.overhead.check = spent.check.into();
        judgement.overhead.total = begin.elapsed().into();
        Ok(judgement)
    }

    fn judge_into(&mut self, job: &Job, judgement: &mut Judgement, spent: &mut Spent) -> Result<Verdict, EnvError> {
        let begin = Instant::now();
        let candidate = match arm::resolve(self, &job.candidate)? {
            Ok(code) => code,
            Err(verdict) => {
                judgement.overhead.build = begin.elapsed().into();
                return Ok(verdict);
            }
        };
        if let Code::Artefact(artefact) = &candidate {
            judgement.artefact = Some(artefact.digest);
            judgement.log.clone_from(&artefact.log);
        }
        let against = arm::resolve(self, &job.against)?.map_err(EnvError::Against)?;
        judgement.overhead.build = begin.elapsed().into();
        let deadline = Instant::now() + Duration::from(job.cap);
        let workloads = self.workloads(&job.slice)?;
        let count = workloads.len();
        for (i, workload) in workloads.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / (count - i) as u32;
            let task = Task { job, workload, deadline: Instant::now() + share };
            let shape = self.shape(&task, [&against, &candidate], spent)?;
            let verdict = shape.verdict.clone();
            judgement.shapes.push(shape);
            if !verdict.is_measured() {
                return Ok(verdict);
            }
            // The cascade: the other workloads are for survivors of the first.
            let is_cascade = matches!(job.fidelity, Fidelity::Anytime { .. });
            if is_cascade && i == 0 && count > 1 && !survives(&judgement.shapes[0]) {
                judgement.remarks.push("the other workloads were not tried: it did not survive the first".to_owned());
                return Ok(verdict);
            }
        }
        Ok(combined(&judgement.shapes))
    }

    /// The workloads of a slice.
    ///
    /// # Errors
    /// When a name is not declared.
    pub fn workloads(&mut self, slice: &Slice) -> Result<Vec<Workload>, EnvError> {
        match slice {
            Slice::Declared => Ok(self.problem.workloads.clone()),
            Slice::Edges => Ok(self.problem.edges().to_vec()),
            Slice::HeldOut { n } => {
                let mut entropy = [0; 8];
                getrandom::fill(&mut entropy).map_err(|e| EnvError::Job(format!("no entropy: {e}")))?;
                Ok(self.problem.held_out(*n, u64::from_ne_bytes(entropy)))
            }
            Slice::Named(names) => names
                .iter()
                .map(|name| {
                    let found = self.problem.workloads.iter().find(|workload| workload.name == *name);
                    found.cloned().ok_or_else(|| {
                        let all: Vec<_> = self.problem.workloads.iter().map(|w| w.name.as_str()).collect();
                        EnvError::Job(format!("no workload is named `{name}`: there are {}", all.join(", ")))
                    })
                })
                .collect(),
        }
    }

    fn shape(&mut self, task: &Task<'_>, codes: [&Code; 2], spent: &mut Spent) -> Result<ShapeJudgement, EnvError> {
        let known = self.known(task.workload)?;
        let mut shape = ShapeJudgement {
            workload: task.workload.clone(),
            verdict: Verdict::Undecided,
            ln: None,
            e: None,
            p: None,
            units: Vec::new(),
            pairs: 0,
            candidate: None,
            against: None,
            checks: 0,
            worst_error: 0.0,
        };
        let mut sides = self.sides(task, codes)?;
        let is_ceiling = [&task.job.against, &task.job.candidate].map(|arm| matches!(arm, Arm::Ceiling(_)));
        let gates = self.gates(task, &known, &sides, is_ceiling, spent);
        match gates {
            Ok((checked, call)) => {
                shape.checks += checked.rows;
                shape.worst_error = checked.worst;
                shape.candidate = Some(call.into());
                shape.verdict = Verdict::Equivalent;
            }
            Err(broken) => return given(broken).map(|verdict| ShapeJudgement { verdict, ..shape }),
        }
        if task.job.fidelity == Fidelity::Gate {
            return Ok(shape);
        }
        if let Some(side) = is_ceiling.iter().position(|is| *is) {
            let call = shape.candidate.map_or(LIMIT, Duration::from);
            arm::fit_ceiling(self, &mut sides, side, call)?;
        }
        match self.measure(task, &known, &sides, is_ceiling, spent) {
            Ok(measured) => fill(&mut shape, &measured),
            Err(broken) => return given(broken).map(|verdict| ShapeJudgement { verdict, ..shape }),
        }
        if is_ceiling[0] {
            let work = self.problem.work(task.workload);
            let ratio = arm::probe_ratio(&sides[0], &work)
                .ok_or_else(|| EnvError::Job("the problem has no work of the kind that this probe does".to_owned()))?;
            normalise(&mut shape, ratio);
        }
        self.quarantine(&mut shape, &task.job.candidate);
        Ok(shape)
    }

    /// Memory for both codes, the cached one where the workload was seen before.
    fn sides(&mut self, task: &Task<'_>, codes: [&Code; 2]) -> Result<[Side; 2], EnvError> {
        let name = &task.workload.name;
        if !self.stage.contains_key(name) {
            // Held-out and edge shapes come once; the declared ones stay.
            if self.stage.len() > 8 {
                self.stage.clear();
            }
            let first = Side::new(&self.problem, task.workload, codes[0].clone()).map_err(SandboxError::Os)?;
            let second = first.rival(codes[1].clone()).map_err(SandboxError::Os)?;
            self.stage.insert(name.clone(), [first, second]);
        }
        let mut sides = self.stage[name].clone();
        for (side, code) in sides.iter_mut().zip(codes) {
            side.code = code.clone();
        }
        Ok(sides)
    }

    fn pairing<'a>(
        &'a self,
        known: &'a Known,
        sides: [&'a Side; 2],
        is_ceiling: [bool; 2],
        limit: Duration,
    ) -> Pairing<'a> {
        Pairing {
            problem: &self.problem,
            checker: Checker {
                problem: &self.problem,
                oracle: &self.oracle,
                tolerance: &known.tolerance,
                row_cost: known.row_cost,
            },
            sides,
            is_checked: is_ceiling.map(|is| !is),
            confinement: self.confinement,
            cores: self.cores,
            limit,
        }
    }

    /// Correctness of both sides, the base first: its time sets the candidate's limit.
    fn gates(
        &mut self,
        task: &Task<'_>,
        known: &Known,
        sides: &[Side; 2],
        is_ceiling: [bool; 2],
        spent: &mut Spent,
    ) -> Result<(Checked, Duration), Broken> {
        let mut limit = Duration::from(self.problem.budget.call).max(LIMIT);
        let mut last = (Checked::default(), LIMIT);
        for of in [Of::Against, Of::Candidate] {
            if is_ceiling[of as usize] {
                continue;
            }
            let digest = arm::digest(if of == Of::Against { &task.job.against } else { &task.job.candidate });
            let key = (digest, known.workload.name.clone());
            // The base was gated when it was a candidate; the candidate always is.
            last = match self.gated.get(&key) {
                Some(known) if of == Of::Against => *known,
                _ => {
                    let mut coins = self.fork_coins();
                    let pairing = self.pairing(known, [&sides[0], &sides[1]], is_ceiling, limit);
                    let result = pairing.gate(of, &mut coins, spent)?;
                    self.gated.insert(key, result);
                    result
                }
            };
            limit = last.1.mul_f64(SLOWEST).max(LIMIT);
        }
        Ok(last)
    }

    fn fork_coins(&mut self) -> ChaCha12Rng {
        use rand::SeedableRng;
        ChaCha12Rng::from_seed(self.coins.random())
    }

    fn measure(
        &mut self,
        task: &Task<'_>,
        known: &Known,
        sides: &[Side; 2],
        is_ceiling: [bool; 2],
        spent: &mut Spent,
    ) -> Result<Measured, Broken> {
        let sigma = self.sigma(task, known, sides, is_ceiling, spent)?;
        let clip = stats::Clip::of_sigma(sigma);
        let margin = task.job.margin;
        let design = match task.job.fidelity {
            Fidelity::Fixed { alpha, process_pairs } => {
                stats::Design::fixed(alpha, margin, clip, process_pairs as usize)
            }
            Fidelity::Anytime { alpha, max_process_pairs } => {
                stats::Design::anytime(alpha, margin, clip, max_process_pairs as usize)
            }
            Fidelity::Gate => unreachable!("a gate is not timed"),
        };
        let mut session = stats::Session::new(design);
        let mut units = Vec::new();
        let mut coins = self.fork_coins();
        let limit = Duration::from(self.problem.budget.call).max(LIMIT);
        let pairing = self.pairing(known, [&sides[0], &sides[1]], is_ceiling, limit);
        loop {
            let unit = pairing.run(&mut coins, spent)?;
            let progress = session.push(unit.y);
            units.push(unit);
            // One unit at least: an estimate without evidence is still an estimate.
            if matches!(progress, stats::Progress::Stop(_)) || Instant::now() > task.deadline {
                return Ok(Measured { summary: session.summary(), units });
            }
        }
    }

    /// The noise of a workload: identical arms, the same way, once a session.
    fn sigma(
        &mut self,
        task: &Task<'_>,
        known: &Known,
        sides: &[Side; 2],
        is_ceiling: [bool; 2],
        spent: &mut Spent,
    ) -> Result<f64, Broken> {
        if let Some(sigma) = self.sigmas.get(&known.workload.name) {
            return Ok(*sigma);
        }
        if is_ceiling[0] {
            return Ok(NOISE_GUESS);
        }
        let mut same = sides[1].clone();
        same.code = sides[0].code.clone();
        let mut coins = self.fork_coins();
        let pairing =
            self.pairing(known, [&sides[0], &same], is_ceiling, Duration::from(self.problem.budget.call).max(LIMIT));
        let mut ys = Vec::new();
        let begin = Instant::now();
        let patience = task.deadline.saturating_duration_since(begin) / 3;
        while ys.len() < NOISE_UNITS && (ys.len() < 2 || begin.elapsed() < patience) {
            ys.push(pairing.run(&mut coins, spent)?.y);
        }
        // A handful of units can agree by chance: never believe a noise far below what such machines show.
        let sigma = stats::robust::mad_sigma(&ys).max(NOISE_GUESS / 3.0);
        self.sigmas.insert(known.workload.name.clone(), sigma);
        Ok(sigma)
    }

    /// One timed call of a probe of our own, after one to warm it.
    ///
    /// # Errors
    /// When the sandbox or the probe fails.
    pub fn time_once(&self, probe: &Side) -> Result<Duration, EnvError> {
        let failed = |verdict: Verdict| EnvError::Job(format!("our own probe failed: {verdict}"));
        let start = Runner::start(self.confinement, &probe.code, &probe.arguments(), self.cores.runner);
        let mut runner = start.map_err(|failure| match failure {
            StartFailure::Sandbox(error) => error.into(),
            StartFailure::Candidate(verdict) => failed(verdict),
        })?;
        let order = probe.order(OP_CALL, 1, Placement::Pool);
        let mut time = Duration::ZERO;
        for _ in 0..2 {
            time = runner.batch(&order, Duration::from_secs(60)).map_err(|ending| failed(ending.verdict()))?;
        }
        Ok(time)
    }

    /// Loop turns that take `share` of one call of the kernel `name` on the first workload.
    ///
    /// # Errors
    /// When the kernel can't be run.
    pub fn spin_for(&mut self, name: &str, share: f64) -> Result<u64, EnvError> {
        /// Turns of the calibration: about 1 ms.
        const TURNS: u64 = 1 << 20;
        let workload = self.problem.workloads[0].clone();
        let mut calls = Vec::new();
        let mut turns = Vec::new();
        for _ in 0..5 {
            let code = Code::Kernel { name: name.to_owned(), spin: 0 };
            let mut side = Side::new(&self.problem, &workload, code).map_err(SandboxError::Os)?;
            let mut coins = self.fork_coins();
            side.fill(&self.problem, 1, Placement::Pool, &mut coins);
            let plain = self.time_once(&side)?.as_secs_f64();
            side.code = Code::Kernel { name: name.to_owned(), spin: TURNS };
            let spun = self.time_once(&side)?.as_secs_f64();
            calls.push(plain);
            turns.push((spun - plain).max(1e-9) / TURNS as f64);
        }
        Ok((share * stats::robust::median(&calls) / stats::robust::median(&turns)) as u64)
    }

    /// Faster than the fastest unit that could meet the tolerance: not ranked.
    fn quarantine(&self, shape: &mut ShapeJudgement, candidate: &Arm) {
        let (Some(map), Some(time), Arm::Source(_)) = (&self.map, shape.candidate, candidate) else { return };
        let work = self.problem.work(&shape.workload);
        if let Ok(limit) = score::quarantine_limit(&work, map)
            && time < limit
        {
            shape.verdict = Verdict::Quarantined {
                why: format!("{time} a call, where this machine's fastest unit needs at least {limit}"),
            };
        }
    }
}

/// One workload of a job.
struct Task<'a> {
    job: &'a Job,
    workload: &'a Workload,
    deadline: Instant,
}

fn coins(seed: Option<u64>) -> ChaCha12Rng {
    use rand::SeedableRng;
    let mut bytes = [0; 32];
    match seed {
        Some(seed) => return ChaCha12Rng::seed_from_u64(seed),
        None => getrandom::fill(&mut bytes).expect("the kernel's entropy"),
    }
    ChaCha12Rng::from_seed(bytes)
}

/// A broken measurement's verdict, or the environment's error.
fn given(broken: Broken) -> Result<Verdict, EnvError> {
    match broken {
        Broken::Environment(error) => Err(error.into()),
        Broken::Candidate(verdict) => Ok(verdict),
        Broken::Against(verdict) => Err(EnvError::Against(verdict)),
    }
}

fn fill(shape: &mut ShapeJudgement, measured: &Measured) {
    let summary = &measured.summary;
    shape.verdict = match summary.decision {
        stats::Decision::Better => Verdict::Better,
        stats::Decision::Worse => Verdict::Worse,
        stats::Decision::Equivalent => Verdict::Equivalent,
        stats::Decision::Undecided => Verdict::Undecided,
    };
    shape.ln = Some(Estimate {
        value: summary.estimate.value,
        interval: Interval { low: summary.estimate.low, high: summary.estimate.high },
    });
    shape.e = summary.e;
    shape.p = summary.p;
    shape.units = measured.units.iter().map(|unit| unit.y).collect();
    shape.pairs = measured.units.iter().map(|unit| unit.pairs).sum();
    shape.checks += measured.units.iter().map(|unit| unit.checked.rows).sum::<u64>();
    shape.worst_error = measured.units.iter().map(|unit| unit.checked.worst).fold(shape.worst_error, f64::max);
    let median = |side: usize| {
        Seconds(stats::robust::median(&measured.units.iter().map(|unit| unit.call[side].0).collect::<Vec<_>>()))
    };
    (shape.against, shape.candidate) = (Some(median(0)), Some(median(1)));
}

/// Against a ceiling, "against" becomes the time that the probe's rate, measured in the same run, gives for the
/// candidate's own work: `ratio` is the probe's work over the candidate's.
fn normalise(shape: &mut ShapeJudgement, ratio: f64) {
    let shift = ratio.ln();
    shape.units.iter_mut().for_each(|y| *y += shift);
    shape.ln = shape.ln.map(|ln| ln.map(|y| y + shift));
    shape.against = shape.against.map(|time| time * ratio.recip());
    shape.e = None;
    shape.p = None;
    shape.verdict = match shape.ln {
        Some(ln) if ln.interval.high < 0.0 => Verdict::Better,
        Some(ln) if ln.interval.low > 0.0 => Verdict::Worse,
        _ => Verdict::Undecided,
    };
}

/// Whether the other workloads are worth their time: better, or not worse and pointing the right way.
fn survives(first: &ShapeJudgement) -> bool {
    match first.verdict {
        Verdict::Better => true,
        Verdict::Equivalent | Verdict::Undecided => first.ln.is_some_and(|ln| ln.value < 0.0),
        _ => false,
    }
}

/// Better only when something is better and nothing is worse; the first failure otherwise.
fn combined(shapes: &[ShapeJudgement]) -> Verdict {
    let any = |verdict: &Verdict| shapes.iter().any(|shape| shape.verdict == *verdict);
    if let Some(bad) = shapes.iter().find(|shape| !shape.verdict.is_measured()) {
        return bad.verdict.clone();
    }
    match (any(&Verdict::Better), any(&Verdict::Worse)) {
        (true, false) => Verdict::Better,
        (false, true) => Verdict::Worse,
        // Faster here and slower there is no answer: the per-shape table is.
        (true, true) => Verdict::Undecided,
        (false, false) if any(&Verdict::Undecided) => Verdict::Undecided,
        (false, false) => Verdict::Equivalent,
    }
}

fn render(error: problems::ProblemError) -> String {
    let report = miette::Report::new(error);
    format!("{report:?}")
}
