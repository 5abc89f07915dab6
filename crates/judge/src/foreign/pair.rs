//! Gates, noise and process pairs of a foreign task on one shape.
//!
//! Every timed batch is a checked batch: the oracle's process answers on the same inputs after the timed one has been
//! stopped. Must not decide anything: `stats` does.

use super::check::{Found, Poison};
use super::stage::{self, Stage};
use super::{of_a_side, of_the_problem};
use crate::cores::Cores;
use crate::judge::{EnvError, LIMIT};
use crate::measure::unmeasured;
use crate::message::Terms;
use crate::outcome::{Measured, design, fill};
use crate::pairing::{Of, ProcessPair, Spent};
use crate::runner::{Runner, StartFailure};
use crate::sandbox::Confinement;
use crate::side::{Checked, Placement, Purpose, Side, Watch};
use ::foreign::traces::Errors;
use model::{Fidelity, Seconds, ShapeJudgement, Verdict};
use protocol::OP_CALL;
use rand::RngExt;
use rand_chacha::ChaCha12Rng;
use std::time::{Duration, Instant};

/// Time that one process pair should take: two interpreters with NumPy cost 0.3 s to start.
const PAIR_TIME: Duration = Duration::from_millis(400);
/// Pairs of batches in one process pair.
const PAIRS: std::ops::RangeInclusive<usize> = 1..=24;
/// Process pairs of identical arms that set the scale of the noise.
const NOISE_UNITS: usize = 5;
/// The least noise that is believed.
const NOISE_LEAST: f64 = 0.001;
/// A candidate's call may take this many times the base's.
const SLOWEST: f64 = 30.0;
/// A reference may take its time: it defines, it doesn't race.
const REFERENCE_LIMIT: Duration = Duration::from_secs(60);

/// Why there is no time.
enum Broken {
    /// The environment, or the problem.
    Environment(EnvError),
    /// A side.
    Side(Of, Verdict),
}

impl From<EnvError> for Broken {
    fn from(error: EnvError) -> Self {
        Self::Environment(error)
    }
}

/// The means to time both sides of a stage.
pub struct Pairs<'a> {
    stage: &'a Stage<'a>,
    confinement: Confinement,
    cores: &'a Cores,
    coins: &'a mut ChaCha12Rng,
    oracle: Runner,
    draws: Option<Runner>,
    limit: Duration,
    found: Found,
}

impl<'a> Pairs<'a> {
    /// Starts the oracle, and the function that draws.
    ///
    /// # Errors
    /// When either does not come up: the problem's fault, or the environment's.
    pub fn new(
        stage: &'a Stage<'a>,
        confinement: Confinement,
        cores: &'a Cores,
        coins: &'a mut ChaCha12Rng,
    ) -> Result<Self, EnvError> {
        let start = |side: &Side, what: &str| {
            Runner::start(confinement, &side.code, &side.arguments(Purpose::Call), cores).map_err(|failure| {
                match failure {
                    StartFailure::Sandbox(error) => error.into(),
                    StartFailure::Candidate(verdict) => of_the_problem(what, &verdict),
                }
            })
        };
        let oracle = start(&stage.sides[2], "reference")?;
        let draws = stage.draws.as_ref().map(|side| start(side, "input generator")).transpose()?;
        let limit = REFERENCE_LIMIT;
        Ok(Self { stage, confinement, cores, coins, oracle, draws, limit, found: Found::default() })
    }

    /// Judges the shape.
    ///
    /// # Errors
    /// The environment's and the problem's failures.
    pub fn judge(
        &mut self,
        terms: &Terms,
        deadline: Instant,
        spent: &mut Spent,
    ) -> Result<(ShapeJudgement, Errors), EnvError> {
        let mut shape = unmeasured(&self.stage.sides[0].workload);
        match self.measure(terms, deadline, &mut shape, spent) {
            Ok(()) => {}
            Err(Broken::Environment(error)) => return Err(error),
            Err(Broken::Side(of, verdict)) => shape.verdict = of_a_side(of, verdict)?,
        }
        shape.checks = self.found.elements;
        shape.worst_error = self.found.worst;
        Ok((shape, self.found.errors))
    }

    /// For the record.
    pub fn remarks(&self) -> Vec<String> {
        let repeated = self.stage.repeated();
        if repeated.is_empty() {
            return Vec::new();
        }
        let names = repeated.join(", ");
        vec![format!("from files, and so the same in every call: {names}; answers kept by content can't be told")]
    }

    fn measure(
        &mut self,
        terms: &Terms,
        deadline: Instant,
        shape: &mut ShapeJudgement,
        spent: &mut Spent,
    ) -> Result<(), Broken> {
        let base = self.gate(Of::Against, spent)?;
        if let Some(answer) = self.stage.trivial_answer(Placement::Back) {
            let what = format!("{answer} would pass its tolerance on {}: it judges nothing", self.stage.shape.name);
            return Err(EnvError::Problem(what).into());
        }
        self.limit = base.mul_f64(SLOWEST).max(LIMIT);
        self.found = Found::default();
        shape.candidate = Some(self.gate(Of::Candidate, spent)?.into());
        shape.verdict = Verdict::Equivalent;
        if terms.fidelity == Fidelity::Gate {
            return Ok(());
        }
        let sigma = self.noise(deadline, spent)?;
        let design = design(terms.fidelity, terms.margin, sigma).expect("a gate has returned");
        let mut session = stats::Session::new(design);
        let mut units = Vec::new();
        loop {
            let unit = self.unit([Of::Against, Of::Candidate], spent)?;
            let progress = session.push(unit.y);
            units.push(unit);
            if progress != stats::Progress::Continue || Instant::now() > deadline {
                fill(shape, &Measured { summary: session.summary(), units, progress });
                return Ok(());
            }
        }
    }

    /// The base against itself.
    fn noise(&mut self, deadline: Instant, spent: &mut Spent) -> Result<f64, Broken> {
        let begin = Instant::now();
        let patience = deadline.saturating_duration_since(begin) / 3;
        let mut ys = Vec::new();
        while ys.len() < NOISE_UNITS && (ys.len() < 2 || begin.elapsed() < patience) {
            ys.push(self.unit([Of::Against, Of::Against], spent)?.y);
        }
        Ok(stats::robust::mad_sigma(&ys).max(NOISE_LEAST))
    }

    /// Both placements, on a fresh runner.
    fn gate(&mut self, of: Of, spent: &mut Spent) -> Result<Duration, Broken> {
        let mut runner = self.start(of, spent)?;
        let mut longest = Duration::ZERO;
        for placement in [Placement::Pool, Placement::Back] {
            longest = longest.max(self.batch((of, &mut runner), 1, placement, spent)?);
        }
        Ok(longest)
    }

    /// One process pair.
    fn unit(&mut self, sides: [Of; 2], spent: &mut Spent) -> Result<ProcessPair, Broken> {
        let mut runners = [self.start(sides[0], spent)?, self.start(sides[1], spent)?];
        let mut calls = [1, 1];
        let begin = Instant::now();
        for (i, of) in sides.into_iter().enumerate() {
            // A call's first run in a process is slow: the second says how many fill a batch.
            let mut time = Duration::ZERO;
            for _ in 0..2 {
                time = self.batch((of, &mut runners[i]), calls[i], Placement::Pool, spent)? / calls[i] as u32;
                calls[i] = self.calls(of, time);
            }
            calls[i] = self.calls(of, time);
        }
        let cost = begin.elapsed() / 2;
        let pairs = (PAIR_TIME.as_secs_f64() / cost.as_secs_f64().max(1e-6)) as usize;
        let pairs = pairs.clamp(*PAIRS.start(), *PAIRS.end());
        let mut ys = Vec::with_capacity(pairs);
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..pairs {
            let order = if self.coins.random() { [0, 1] } else { [1, 0] };
            let mut pair = [0.0; 2];
            for i in order {
                let time = self.batch((sides[i], &mut runners[i]), calls[i], Placement::Pool, spent)?;
                pair[i] = time.as_secs_f64() / calls[i] as f64;
                times[i].push(pair[i]);
            }
            ys.push((pair[1] / pair[0]).ln());
        }
        let begin = Instant::now();
        drop(runners);
        spent.runners += begin.elapsed();
        let call = times.map(|times| Seconds(stats::robust::median(&times)));
        Ok(ProcessPair { y: stats::robust::median(&ys), pairs: pairs as u32, call, checked: Checked::default() })
    }

    fn start(&self, of: Of, spent: &mut Spent) -> Result<Runner, Broken> {
        let begin = Instant::now();
        let side = &self.stage.sides[of as usize];
        let runner = Runner::start(self.confinement, &side.code, &side.arguments(Purpose::Call), self.cores);
        spent.runners += begin.elapsed();
        runner.map_err(|failure| match failure {
            StartFailure::Sandbox(error) => Broken::Environment(error.into()),
            StartFailure::Candidate(verdict) => Broken::Side(of, verdict),
        })
    }

    /// Draws, poisons, times, lets the oracle answer, checks.
    fn batch(
        &mut self,
        (of, runner): (Of, &mut Runner),
        calls: usize,
        placement: Placement,
        spent: &mut Spent,
    ) -> Result<Duration, Broken> {
        let side = &self.stage.sides[of as usize];
        let begin = Instant::now();
        self.draw(calls, placement)?;
        let poison = stage::poison(side, calls, placement, self.coins);
        spent.draw += begin.elapsed();
        let order = side.order(OP_CALL, calls, placement);
        let mut watch = Watch::new(side, (calls, placement), |word| poison.word(word), self.coins);
        let time = runner.batch_watched(&order, self.limit, || watch.look());
        let time = time.map_err(|ending| Broken::Side(of, ending.verdict()))?;
        spent.calls += time;
        watch.verdict().map_err(|verdict| Broken::Side(of, verdict))?;
        let begin = Instant::now();
        self.check((of, side), calls, placement, poison)?;
        spent.check += begin.elapsed();
        Ok(time)
    }

    fn draw(&mut self, calls: usize, placement: Placement) -> Result<(), EnvError> {
        self.stage.draw(calls, placement, self.coins);
        let (Some(runner), Some(side)) = (&mut self.draws, &self.stage.draws) else { return Ok(()) };
        let mut order = side.order(OP_CALL, calls, placement);
        // Call i is seeded by this plus i; numpy takes 32 bits and PyTorch no sign.
        order.sizes[0] = i64::from(self.coins.random::<u32>() >> 1);
        let drawn = runner.batch(&order, REFERENCE_LIMIT);
        drawn.map(|_| ()).map_err(|ending| of_the_problem("input generator", &ending.verdict()))
    }

    fn check(
        &mut self,
        (of, side): (Of, &Side),
        calls: usize,
        placement: Placement,
        poison: Poison,
    ) -> Result<(), Broken> {
        let order = self.stage.sides[2].order(OP_CALL, calls, placement);
        let answered = self.oracle.batch(&order, REFERENCE_LIMIT.max(self.limit));
        answered.map_err(|ending| of_the_problem("reference", &ending.verdict()))?;
        let (found, result) = self.stage.check(side, calls, placement, poison);
        // The candidate's errors are what is asked for; the base's would hide them.
        if of == Of::Candidate {
            self.found.add(found);
        }
        result.map_err(|verdict| Broken::Side(of, verdict))
    }

    fn calls(&self, of: Of, call: Duration) -> usize {
        self.cores.calls(call, self.stage.sides[of as usize].calls_max)
    }
}
