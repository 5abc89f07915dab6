//! One workload of a job: gates, the noise, the comparison, the ceiling check.
//!
//! Must not decide by anything but `stats`.

use crate::arm;
use crate::judge::{EnvError, Judge, Known, LIMIT};
use crate::outcome::{Measured, design, fill, normalise};
use crate::pairing::{Broken, Of, Pairing, Spent};
use crate::runner::Code;
use crate::sandbox::SandboxError;
use crate::side::{Checked, Checker, Side};
use model::{Arm, Fidelity, Job, ShapeJudgement, Slice, Verdict, Workload};
use std::time::{Duration, Instant};

/// Process pairs of identical arms that set the scale of the noise on a workload.
const NOISE_UNITS: usize = 5;
/// Scale of the noise before it has been measured: a CPU-bound kernel's on a shared machine.
const NOISE_GUESS: f64 = 0.003;
/// A base that takes longer than this a call is not timed on a search's later workloads: 13 process pairs of it, the
/// fewest that decide, would take most of a minute. The candidate's gates still run there. A job for that workload alone
/// times it.
const TOO_SLOW: Duration = Duration::from_millis(250);
/// A base that takes longer than this a call leans on the first workload's noise.
const SLOW: Duration = Duration::from_millis(100);
/// A comparison that is late and could not have decided yet goes on for at most this many times the job's cap.
const OVERTIME: u32 = 3;
/// A candidate's call may take this many times the base's.
const SLOWEST: f64 = 30.0;

/// One workload of a job.
pub struct Task<'a> {
    /// The job.
    pub job: &'a Job,
    /// The workload.
    pub workload: &'a Workload,
    /// When to stop with what there is.
    pub deadline: Instant,
}

/// Two sides on one workload, ready to be timed.
pub struct Meeting<'a> {
    /// What is asked.
    pub task: &'a Task<'a>,
    /// What is known of the workload.
    pub known: &'a Known,
    /// A and B.
    pub sides: &'a [Side; 2],
    /// Which of them is a probe of ours.
    pub is_ceiling: [bool; 2],
}

impl Judge {
    /// Judges one workload.
    ///
    /// # Errors
    /// The environment's failures.
    pub fn shape(&mut self, task: &Task<'_>, codes: [&Code; 2], spent: &mut Spent) -> Result<ShapeJudgement, EnvError> {
        let known = self.known(task.workload)?;
        let mut shape = unmeasured(task.workload);
        let mut sides = self.sides(task, codes)?;
        let is_ceiling = [&task.job.against, &task.job.candidate].map(|arm| matches!(arm, Arm::Ceiling(_)));
        let gates = self.gates(&Meeting { task, known: &known, sides: &sides, is_ceiling }, spent);
        match gates {
            Ok((checked, call)) => {
                shape.checks += checked.rows;
                shape.worst_error = checked.worst;
                shape.candidate = Some(call.into());
                shape.verdict = Verdict::Equivalent;
            }
            Err(broken) => return given(broken).map(|verdict| ShapeJudgement { verdict, ..shape }),
        }
        let is_search = matches!(task.job.fidelity, Fidelity::Anytime { .. });
        let base = self.gated.get(&(arm::digest(&task.job.against), task.workload.name.clone())).map(|gate| gate.1);
        let is_too_slow = is_search && !self.decides(task) && base.is_some_and(|call| call > TOO_SLOW);
        if task.job.fidelity == Fidelity::Gate || is_too_slow {
            return Ok(shape);
        }
        if let Some(side) = is_ceiling.iter().position(|is| *is) {
            let call = shape.candidate.map_or(LIMIT, Duration::from);
            arm::fit_ceiling(self, &mut sides, side, call)?;
        }
        match self.measure(&Meeting { task, known: &known, sides: &sides, is_ceiling }, spent) {
            Ok(measured) => fill(&mut shape, &measured),
            Err(broken) => return given(broken).map(|verdict| ShapeJudgement { verdict, ..shape }),
        }
        if is_ceiling[0] {
            let work = self.problem.work(task.workload);
            let ratio = arm::probe_ratio(&sides[0], &work)
                .ok_or_else(|| EnvError::Job("the problem has no work of the kind that this probe does".to_owned()))?;
            normalise(&mut shape, ratio);
        }
        match self.doubt(&mut shape, &Meeting { task, known: &known, sides: &sides, is_ceiling }, spent) {
            // What was measured stays. The whole has no verdict then.
            Err(EnvError::Interrupted) => Ok(shape),
            doubted => doubted.map(|()| shape),
        }
    }

    /// Memory for both codes, the cached one where the workload was seen before.
    pub fn sides(&mut self, task: &Task<'_>, codes: [&Code; 2]) -> Result<[Side; 2], EnvError> {
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

    /// The means to time two sides.
    pub fn pairing<'a>(&'a self, meeting: &Meeting<'a>, sides: [&'a Side; 2], limit: Duration) -> Pairing<'a> {
        Pairing {
            problem: &self.problem,
            checker: Checker {
                problem: &self.problem,
                oracle: &self.oracle,
                tolerance: &meeting.known.tolerance,
                row_cost: meeting.known.row_cost,
            },
            sides,
            is_checked: meeting.is_ceiling.map(|is| !is),
            confinement: self.confinement,
            cores: &self.cores,
            limit,
        }
    }

    /// Correctness of both sides, the base first: its time sets the candidate's limit.
    fn gates(&mut self, meeting: &Meeting<'_>, spent: &mut Spent) -> Result<(Checked, Duration), Broken> {
        let mut limit = Duration::from(self.problem.budget.call).max(LIMIT);
        let mut last = (Checked::default(), LIMIT);
        for of in [Of::Against, Of::Candidate] {
            let is_idle = of == Of::Against && meeting.task.job.fidelity == Fidelity::Gate;
            if meeting.is_ceiling[of as usize] || is_idle {
                continue;
            }
            let digest =
                arm::digest(if of == Of::Against { &meeting.task.job.against } else { &meeting.task.job.candidate });
            let key = (digest, meeting.known.workload.name.clone());
            // The base was gated when it was a candidate; the candidate always is.
            last = match self.gated.get(&key) {
                Some(passed) if of == Of::Against => *passed,
                _ => {
                    let mut coins = self.fork_coins();
                    let pairing = self.pairing(meeting, [&meeting.sides[0], &meeting.sides[1]], limit);
                    let result = pairing.gate(of, &mut coins, spent)?;
                    self.gated.insert(key, result);
                    result
                }
            };
            limit = last.1.mul_f64(SLOWEST).max(LIMIT);
        }
        Ok(last)
    }

    fn measure(&mut self, meeting: &Meeting<'_>, spent: &mut Spent) -> Result<Measured, Broken> {
        let sigma = self.sigma(meeting, spent)?;
        let job = meeting.task.job;
        let design = design(job.fidelity, job.margin, sigma).expect("a gate is not timed");
        let mut session = stats::Session::new(design);
        let mut units = Vec::new();
        let mut coins = self.fork_coins();
        let limit = Duration::from(self.problem.budget.call).max(LIMIT);
        let pairing = self.pairing(meeting, [&meeting.sides[0], &meeting.sides[1]], limit);
        let (least, patience) = self.least(meeting.task, &design);
        loop {
            let unit = match pairing.run(&mut coins, spent) {
                Err(Broken::Interrupted) if !units.is_empty() => {
                    return Ok(Measured { summary: session.summary(), units, progress: stats::Progress::Continue });
                }
                unit => unit?,
            };
            let progress = session.push(unit.y);
            units.push(unit);
            let now = Instant::now();
            let is_late = now > meeting.task.deadline && (units.len() >= least || now > patience);
            if progress != stats::Progress::Continue || is_late {
                return Ok(Measured { summary: session.summary(), units, progress });
            }
        }
    }

    /// Whether the job hangs on this workload: the problem's first, which says who survives, or the only one asked for.
    fn decides(&self, task: &Task<'_>) -> bool {
        let is_only = matches!(&task.job.slice, Slice::Named(names) if names.len() == 1);
        is_only || *task.workload == self.problem.workloads[0]
    }

    /// Units that a late comparison still waits for, and until when. One at least: an estimate without evidence is still
    /// an estimate. On a workload that decides, as many as the test needs: a base of 100 ms a call left 8 in its share of
    /// a promotion's time, too few for its alpha at a gain of 190 times.
    fn least(&self, task: &Task<'_>, design: &stats::Design) -> (usize, Instant) {
        let is_anytime = matches!(task.job.fidelity, Fidelity::Anytime { .. });
        let least = if self.decides(task) && is_anytime { design.fewest_units() } else { 1 };
        (least, task.deadline + Duration::from(task.job.cap) * OVERTIME)
    }

    /// The noise of a workload: identical arms, the same way, once a session.
    fn sigma(&mut self, meeting: &Meeting<'_>, spent: &mut Spent) -> Result<f64, Broken> {
        if let Some(sigma) = self.sigmas.get(&meeting.known.workload.name) {
            return Ok(*sigma);
        }
        if meeting.is_ceiling[0] {
            return Ok(NOISE_GUESS);
        }
        // Identical arms at a second a call teach little for their price, and a search has no time for later ones.
        let first = &self.problem.workloads[0].name;
        let base = arm::digest(&meeting.task.job.against);
        let is_slow = self.gated.get(&(base, meeting.known.workload.name.clone())).is_some_and(|gate| gate.1 > SLOW);
        if (is_slow || matches!(meeting.task.job.fidelity, Fidelity::Anytime { .. }))
            && let Some(sigma) = self.sigmas.get(first)
        {
            return Ok(*sigma);
        }
        let mut same = meeting.sides[1].clone();
        same.code = meeting.sides[0].code.clone();
        let mut coins = self.fork_coins();
        let pairing =
            self.pairing(meeting, [&meeting.sides[0], &same], Duration::from(self.problem.budget.call).max(LIMIT));
        let mut ys = Vec::new();
        let begin = Instant::now();
        let patience = meeting.task.deadline.saturating_duration_since(begin) / 3;
        while ys.len() < NOISE_UNITS && (ys.len() < 2 || begin.elapsed() < patience) {
            ys.push(pairing.run(&mut coins, spent)?.y);
        }
        // A handful of units can agree by chance: never believe a noise far below what such machines show.
        let sigma = stats::robust::mad_sigma(&ys).max(NOISE_GUESS / 3.0);
        self.sigmas.insert(meeting.known.workload.name.clone(), sigma);
        Ok(sigma)
    }
}

/// A workload's judgement before anything is known.
pub fn unmeasured(workload: &Workload) -> ShapeJudgement {
    ShapeJudgement {
        workload: workload.clone(),
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
    }
}

/// A broken measurement's verdict.
///
/// # Errors
/// The environment's, or what is compared with does not work.
pub fn given(broken: Broken) -> Result<Verdict, EnvError> {
    match broken {
        Broken::Environment(error) => Err(error.into()),
        Broken::Candidate(verdict) => Ok(verdict),
        Broken::Against(verdict) => Err(EnvError::Against(verdict)),
        Broken::Interrupted => Err(EnvError::Interrupted),
    }
}
