//! The judge: one loaded problem, and the answers to jobs about it.
//!
//! Must not write the ledger, decide by anything but `stats`, or blur the three outcomes: a candidate's failure is a
//! verdict, the environment's an error, ours a panic.

use crate::arm;
use crate::builder::Builder;
use crate::cores::Cores;
use crate::interrupt;
use crate::measure::Task;
use crate::message::{Opened, Ready};
use crate::outcome::{combined, survives};
use crate::pairing::Spent;
use crate::python::Interpreters;
use crate::runner::Code;
use crate::sandbox::{Confinement, SandboxError};
use crate::side::{Checked, Side};
use model::{Arm, Digest, Fidelity, Job, Judgement, Map, Overhead, Slice, Trust, Verdict, Workload};
use problems::{Family, Oracle, Problem, Tolerance};
use rand::RngExt;
use rand_chacha::ChaCha12Rng;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What people should know of prebuilt libraries.
const UNVETTED: &str = "a prebuilt library is its owner's: it is not vetted, and code of its own may run as it loads; \
                        from then on it is sealed and checked like a candidate";
/// Shortest limit of a call.
pub const LIMIT: Duration = Duration::from_secs(2);

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
    /// Whoever asked does not want to wait any more.
    #[error("interrupted")]
    Interrupted,
}

/// What is known of one workload.
pub struct Known {
    /// Which.
    pub workload: Workload,
    /// Its tolerance.
    pub tolerance: Tolerance,
    /// What one row of the oracle takes.
    pub row_cost: Duration,
}

/// A loaded problem and the means to judge.
pub struct Judge {
    /// The problem.
    pub problem: Problem,
    /// Its float64 oracle.
    pub oracle: Oracle,
    /// The builder.
    pub builder: Builder,
    /// Whether roles are confined.
    pub confinement: Confinement,
    /// Where judge and runners run.
    pub cores: Cores,
    /// The judge's own coins.
    pub coins: ChaCha12Rng,
    /// The machine's map.
    pub map: Option<Map>,
    known: HashMap<(String, Family), Rc<Known>>,
    /// Noise by workload.
    pub sigmas: HashMap<String, f64>,
    /// Gates passed, by arm and workload.
    pub gated: HashMap<(Digest, String), (Checked, Duration)>,
    /// Interpreters for Python candidates, looked for when the first comes.
    pub interpreters: Interpreters,
    /// Memory by workload, kept from job to job: populating it is most of a start.
    pub stage: HashMap<String, [Side; 2]>,
}

impl Judge {
    /// Loads a problem and builds its oracle.
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
        let cores = Cores::detect(problem.threads).map_err(EnvError::Problem)?;
        let builder = Builder::new(confinement)?;
        let library = builder.oracle(&problem.oracle_unit())?;
        let oracle = Oracle::open(&problem, &library).map_err(|e| EnvError::Problem(e.to_string()))?;
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
            interpreters: Interpreters::default(),
            stage: HashMap::new(),
        })
    }

    /// Takes over what another judge has derived, when it judged the very same problem.
    pub fn inherit(&mut self, other: &Self) {
        if other.problem.digest == self.problem.digest {
            self.known.clone_from(&other.known);
        }
    }

    /// Makes ready, and says what the app wants to know after loading.
    ///
    /// # Errors
    /// When a trivial answer passes the tolerance of a workload that is made ready.
    pub fn opened(&mut self, ready: Ready) -> Result<Opened, EnvError> {
        let workloads = self.problem.workloads.clone();
        let count = match ready {
            Ready::Shortest => 1,
            Ready::Declared => workloads.len(),
        };
        for workload in &workloads[..count.min(workloads.len())] {
            self.known(workload)?;
        }
        let mut warnings: Vec<String> = self.cores.warning().into_iter().collect();
        if self.confinement == Confinement::Unconfined {
            warnings.push("unconfined: candidates run without any protection; every record says so".to_owned());
        }
        Ok(Opened {
            problem: self.problem.name.clone(),
            digest: self.problem.digest,
            workloads,
            sandbox: self.confinement.layers(),
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

    /// Tolerance and cost of a row, derived once a workload.
    ///
    /// # Errors
    /// When the problem is refused.
    pub fn known(&mut self, workload: &Workload) -> Result<Rc<Known>, EnvError> {
        self.known_as(workload, Family::Declared)
    }

    /// The same on a family of inputs.
    ///
    /// # Errors
    /// As [`Self::known`].
    pub fn known_as(&mut self, workload: &Workload, family: Family) -> Result<Rc<Known>, EnvError> {
        let key = (workload.name.clone(), family);
        if let Some(known) = self.known.get(&key) {
            return Ok(Rc::clone(known));
        }
        let seed = self.coins.random();
        let begin = Instant::now();
        let (problem, oracle) = (&self.problem, &self.oracle);
        let tolerance = match family {
            Family::Declared => Tolerance::derive(problem, oracle, workload, seed),
            _ => Tolerance::derive_as(problem, oracle, (workload, family), seed),
        };
        let tolerance = tolerance.map_err(|e| EnvError::Problem(render(e)))?;
        // Tolerance and trivial answers together draw the inputs and run 64 rows in both precisions.
        let row_cost = begin.elapsed() / 128;
        let known = Rc::new(Known { workload: workload.clone(), tolerance, row_cost });
        self.known.insert(key, Rc::clone(&known));
        Ok(known)
    }

    /// Coins for one measurement, so that the borrow of the judge's own ends.
    pub fn fork_coins(&mut self) -> ChaCha12Rng {
        use rand::SeedableRng;
        ChaCha12Rng::from_seed(self.coins.random())
    }

    /// Answers a job.
    ///
    /// # Errors
    /// The environment's failures; the candidate's are in the judgement.
    pub fn judge(&mut self, job: &Job) -> Result<Judgement, EnvError> {
        self.timed(job, Self::judge_into)
    }

    /// A judgement of `job` that `work` fills in and gives the verdict of.
    pub fn timed(
        &mut self,
        job: &Job,
        work: impl FnOnce(&mut Self, &Job, &mut Judgement, &mut Spent) -> Result<Verdict, EnvError>,
    ) -> Result<Judgement, EnvError> {
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
        judgement.verdict = work(self, job, &mut judgement, &mut spent)?;
        judgement.overhead.runners = spent.runners.into();
        judgement.overhead.draw = spent.draw.into();
        judgement.overhead.calls = spent.calls.into();
        judgement.overhead.check = spent.check.into();
        judgement.overhead.total = begin.elapsed().into();
        Ok(judgement)
    }

    fn judge_into(&mut self, job: &Job, judgement: &mut Judgement, spent: &mut Spent) -> Result<Verdict, EnvError> {
        match self.judge_on(job, judgement, spent) {
            // What was measured until then is in the judgement.
            Err(EnvError::Interrupted) => Ok(Verdict::Undecided),
            answer => answer,
        }
    }

    fn judge_on(&mut self, job: &Job, judgement: &mut Judgement, spent: &mut Spent) -> Result<Verdict, EnvError> {
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
        if [&job.candidate, &job.against].iter().any(|arm| matches!(arm, Arm::Library(_))) {
            judgement.remarks.push(UNVETTED.to_owned());
        }
        for code in [&candidate, &against] {
            if let Code::Python(python) = code {
                judgement.artefact.get_or_insert(python.digest);
                judgement.remarks.push(format!("run by {}", python.interpreter));
                if judgement.trust == Trust::Sealed {
                    judgement.trust = Trust::Open;
                }
            }
        }
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
            if interrupt::asked() {
                return Err(EnvError::Interrupted);
            }
            // The cascade: the other workloads are for survivors of the first.
            let is_cascade = matches!(job.fidelity, Fidelity::Anytime { .. });
            if is_cascade && i == 0 && count > 1 && !survives(&judgement.shapes[0]) {
                judgement.remarks.push("the other workloads were not tried: it did not survive the first".to_owned());
                return Ok(verdict);
            }
        }
        match combined(&judgement.shapes) {
            Verdict::Better => self.better_on_families(job, judgement, spent),
            verdict => Ok(verdict),
        }
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
}

/// The judge's own coins, from the kernel's entropy unless a test gives a seed.
pub fn coins(seed: Option<u64>) -> ChaCha12Rng {
    use rand::SeedableRng;
    let mut bytes = [0; 32];
    match seed {
        Some(seed) => return ChaCha12Rng::seed_from_u64(seed),
        None => getrandom::fill(&mut bytes).expect("the kernel's entropy"),
    }
    ChaCha12Rng::from_seed(bytes)
}

fn render(error: problems::ProblemError) -> String {
    let report = miette::Report::new(error);
    format!("{report:?}")
}
