//! Times two sides against each other: process pairs, each of coin-flipped, interleaved pairs of batches.
//!
//! The process pair is the statistical unit: its y is the median over its pairs of ln(t_candidate / t_against).
//! Every timed batch is a checked batch. Must not decide anything: `stats` does.

use crate::cores::Cores;
use crate::ending::Ending;
use crate::runner::{Runner, StartFailure};
use crate::sandbox::Confinement;
use crate::side::{Batch, Checked, Checker, Placement, Purpose, Rows, Side, Watch};
use model::{Rule, Seconds, Verdict};
use problems::{Problem, Repeat, Role};
use protocol::OP_PREPARE;
use rand::{Rng, RngExt};
use std::time::{Duration, Instant};

/// Time that one process pair should take; its two runners cost about 30 ms to start and end. At 60 ms (some 9 pairs of
/// a 1.8 ms call) a unit's sigma was 2 to 4 % on a shared machine, and 2 % of difference was seen in 3 of 4 judgements.
const PAIR_TIME: Duration = Duration::from_millis(130);
/// Pairs of batches in one process pair.
const PAIRS: std::ops::RangeInclusive<usize> = 1..=24;
/// Rows of the gate's first call, whose second call is checked whole.
const GATE_ROWS: usize = 32;
/// A call that takes longer is not repeated in the gate: longer ones are of shapes that few candidates come to.
const REPEATED: Duration = Duration::from_millis(100);
/// Weights that outgrow a first-level cache are worth reading once for several calls: a candidate that looks ahead in
/// its batch would do so. With such weights a batch is one call, however short.
const REUSED: usize = 48 << 10;
/// Share of a batch's time that sampled oracle rows may take.
const CHECK_SHARE: f64 = 0.2;

/// Why a measurement has no result.
pub enum Broken {
    /// The environment.
    Environment(crate::sandbox::SandboxError),
    /// The candidate.
    Candidate(Verdict),
    /// What it is compared with does not work: a mistake of the question's.
    Against(Verdict),
    /// Ctrl-C.
    Interrupted,
}

/// The candidate, or what it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A.
    Against,
    /// B.
    Candidate,
}

impl Of {
    fn broken(self, verdict: Verdict) -> Broken {
        match self {
            Self::Against => Broken::Against(verdict),
            Self::Candidate => Broken::Candidate(verdict),
        }
    }

    fn started(self, failure: StartFailure) -> Broken {
        match failure {
            StartFailure::Sandbox(error) => Broken::Environment(error),
            StartFailure::Candidate(verdict) => self.broken(verdict),
        }
    }

    fn ended(self, ending: &Ending) -> Broken {
        if *ending == Ending::Interrupted { Broken::Interrupted } else { self.broken(ending.verdict()) }
    }
}

/// The judge's own time, by part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Starting and ending runners.
    pub runners: Duration,
    /// Drawing and poisoning.
    pub draw: Duration,
    /// Timed batches.
    pub calls: Duration,
    /// Checking.
    pub check: Duration,
}

impl Spent {
    /// Adds the time since `begin` to one part.
    fn add(part: &mut Duration, begin: Instant) {
        *part += begin.elapsed();
    }
}

/// What one process pair gave.
#[derive(Clone, Debug)]
pub struct ProcessPair {
    /// Median of ln(t_candidate / t_against).
    pub y: f64,
    /// Pairs.
    pub pairs: u32,
    /// Median time of one call: against, candidate.
    pub call: [Seconds; 2],
    /// Checks of both sides.
    pub checked: Checked,
}

/// What is needed to time two sides on one workload.
pub struct Pairing<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// Its checker; none of our own ceiling probes is checked.
    pub checker: Checker<'a>,
    /// A and B.
    pub sides: [&'a Side; 2],
    /// Which of them are checked.
    pub is_checked: [bool; 2],
    /// Confinement.
    pub confinement: Confinement,
    /// Cores.
    pub cores: &'a Cores,
    /// Longest batch.
    pub limit: Duration,
}

impl Pairing<'_> {
    /// Runs one process pair: two fresh runners, a warm-up batch each, then the pairs.
    ///
    /// # Errors
    /// Whose fault it is.
    pub fn run(&self, coins: &mut impl Rng, spent: &mut Spent) -> Result<ProcessPair, Broken> {
        let begin = Instant::now();
        self.wipe(coins);
        let mut first = self.start(Of::Against)?;
        let mut second = self.start(Of::Candidate)?;
        let preparers = [self.preparer(Of::Against)?, self.preparer(Of::Candidate)?];
        Spent::add(&mut spent.runners, begin);
        self.sides[0].draw_weights(self.problem, Placement::Pool, coins);
        for (of, preparer) in [Of::Against, Of::Candidate].into_iter().zip(preparers) {
            if let Some(mut preparer) = preparer {
                self.prepare(of, &mut preparer, Placement::Pool)?;
            }
        }
        let runners = [&mut first, &mut second];
        let mut checked = Checked::default();
        let mut calls = [1, 1];
        let mut rows = [1, 1];
        let mut cost = Duration::ZERO;
        for of in [Of::Against, Of::Candidate] {
            let side = of as usize;
            let begin = Instant::now();
            let time = self.batch(of, runners[side], (1, Rows::Random(1)), (coins, &mut checked, spent))?;
            // Growing from one call: a call's first run in a process is slow, and one step of growth absorbs it.
            calls[side] = self.calls(side, time);
            let mut call = time;
            if calls[side] > 1 {
                let how = (calls[side], Rows::Random(1));
                let time = self.batch(of, runners[side], how, (coins, &mut checked, spent))?;
                call = time / calls[side] as u32;
                calls[side] = self.calls(side, call);
            }
            rows[side] = self.rows(call);
            cost += begin.elapsed();
        }
        let pairs =
            ((PAIR_TIME.as_secs_f64() / cost.as_secs_f64().max(1e-6)) as usize).clamp(*PAIRS.start(), *PAIRS.end());
        let mut ys = Vec::with_capacity(pairs);
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..pairs {
            let order = if coins.random() { [Of::Against, Of::Candidate] } else { [Of::Candidate, Of::Against] };
            let mut pair = [0.0; 2];
            for of in order {
                let side = of as usize;
                let how = (calls[side], Rows::Random(rows[side]));
                let time = self.batch(of, runners[side], how, (coins, &mut checked, spent))?;
                pair[side] = time.as_secs_f64() / calls[side] as f64;
                times[side].push(pair[side]);
            }
            ys.push((pair[1] / pair[0]).ln());
        }
        let begin = Instant::now();
        drop(first);
        drop(second);
        Spent::add(&mut spent.runners, begin);
        let call = times.map(|times| Seconds(stats::robust::median(&times)));
        Ok(ProcessPair { y: stats::robust::median(&ys), pairs: pairs as u32, call, checked })
    }

    fn wipe(&self, coins: &mut impl Rng) {
        for (side, is_checked) in self.sides.into_iter().zip(self.is_checked) {
            // A ceiling's probe keeps its data from process to process, and is our own.
            if is_checked {
                side.wipe(coins);
            }
        }
    }

    /// Starts a runner for one side.
    ///
    /// # Errors
    /// Whose fault it is.
    pub fn start(&self, of: Of) -> Result<Runner, Broken> {
        self.runner(of, Purpose::Call)
    }

    /// A runner that can pack a side's weights, where there is something to pack. Like every other it is loaded and
    /// stopped before the weights are drawn.
    fn preparer(&self, of: Of) -> Result<Option<Runner>, Broken> {
        if self.sides[of as usize].prepares() { self.runner(of, Purpose::Prepare).map(Some) } else { Ok(None) }
    }

    fn runner(&self, of: Of, purpose: Purpose) -> Result<Runner, Broken> {
        let side = self.sides[of as usize];
        Runner::start(self.confinement, &side.code, &side.arguments(purpose), self.cores)
            .map_err(|failure| of.started(failure))
    }

    fn prepare(&self, of: Of, runner: &mut Runner, placement: Placement) -> Result<(), Broken> {
        let side = self.sides[of as usize];
        let order = side.order(OP_PREPARE, 1, placement);
        runner.batch(&order, self.limit).map(|_| ()).map_err(|ending| of.ended(&ending))
    }

    fn batch(
        &self,
        of: Of,
        runner: &mut Runner,
        (calls, rows): (usize, Rows),
        (coins, checked, spent): (&mut impl Rng, &mut Checked, &mut Spent),
    ) -> Result<Duration, Broken> {
        let side = self.sides[of as usize];
        let begin = Instant::now();
        let batch = Batch::fill(side, self.problem, calls, Placement::Pool, coins);
        Spent::add(&mut spent.draw, begin);
        let time = self.watched(of, runner, &batch, coins)?;
        spent.calls += time;
        if self.is_checked[of as usize] {
            let begin = Instant::now();
            let more = side.check(&self.checker, &batch, rows, coins).map_err(|verdict| of.broken(verdict))?;
            Spent::add(&mut spent.check, begin);
            checked.rows += more.rows;
            checked.worst = checked.worst.max(more.worst);
        }
        Ok(time)
    }

    /// Runs a batch, and looks at its outputs in the instant of done.
    fn watched(&self, of: Of, runner: &mut Runner, batch: &Batch, coins: &mut impl Rng) -> Result<Duration, Broken> {
        let side = self.sides[of as usize];
        let mut watch = Watch::new(side, (batch.calls, batch.placement), |_| batch.poison, coins);
        let look = || watch.look();
        let time = runner.batch_watched(&batch.order(side), self.limit, look).map_err(|ending| of.ended(&ending))?;
        if self.is_checked[of as usize] {
            watch.verdict().map_err(|verdict| of.broken(verdict))?;
        }
        Ok(time)
    }

    /// Every row of one call in the tight layout, on a fresh runner: the gate. The same call as a timed one.
    ///
    /// # Errors
    /// Whose fault it is.
    pub fn gate(&self, of: Of, coins: &mut impl Rng, spent: &mut Spent) -> Result<(Checked, Duration), Broken> {
        let side = self.sides[of as usize];
        let begin = Instant::now();
        let word = side.wipe(coins);
        let mut runner = self.start(of)?;
        let mut preparer = self.preparer(of)?;
        Spent::add(&mut spent.runners, begin);
        let mut checked = Checked::default();
        let mut longest = Duration::ZERO;
        for placement in [Placement::Pool, Placement::Back] {
            side.draw_weights(self.problem, placement, coins);
            if let Some(preparer) = &mut preparer {
                self.prepare(of, preparer, placement)?;
            }
            let begin = Instant::now();
            let batch = Batch::fill(side, self.problem, 1, placement, coins);
            Spent::add(&mut spent.draw, begin);
            let time = self.watched(of, &mut runner, &batch, coins)?;
            spent.calls += time;
            longest = longest.max(time);
            let begin = Instant::now();
            // All rows once; the other placement differs by its addresses alone.
            let rows = if placement == Placement::Back { Rows::All } else { Rows::Random(GATE_ROWS) };
            let more = side.check(&self.checker, &batch, rows, coins).map_err(|verdict| of.broken(verdict))?;
            if placement == Placement::Pool {
                side.check_behind(word).map_err(|verdict| of.broken(verdict))?;
            }
            Spent::add(&mut spent.check, begin);
            checked.rows += more.rows;
            checked.worst = checked.worst.max(more.worst);
            if placement == Placement::Back && time < REPEATED && self.problem.numerics.repeat == Repeat::BitEqual {
                self.repeat(of, &mut runner, &batch, (coins, spent))?;
            }
        }
        Ok((checked, longest))
    }

    /// The call that was just checked, on the very same inputs: the same bits have to come out.
    fn repeat(
        &self,
        of: Of,
        runner: &mut Runner,
        batch: &Batch,
        (coins, spent): (&mut impl Rng, &mut Spent),
    ) -> Result<(), Broken> {
        let side = self.sides[of as usize];
        let before = side.outputs(batch.placement);
        let again = batch.again(side, coins);
        spent.calls += runner.batch(&again.order(side), self.limit).map_err(|ending| of.ended(&ending))?;
        let mut pairs = before.iter().flatten().zip(side.outputs(batch.placement).into_iter().flatten());
        let Some(byte) = pairs.position(|(before, after)| *before != after) else { return Ok(()) };
        Err(of.broken(Verdict::Refused {
            rule: Rule::Inconsistent,
            detail: format!("element {} of the output differs between two calls on the same inputs", byte / 4),
        }))
    }

    fn calls(&self, side: usize, call: Duration) -> usize {
        let weights = self.sides[side].slots.iter().filter(|slot| matches!(slot.role, Role::Weight | Role::Packed));
        if weights.map(|slot| slot.bytes).sum::<usize>() > REUSED {
            return 1;
        }
        self.cores.calls(call, self.sides[side].calls_max)
    }

    fn rows(&self, call: Duration) -> usize {
        let row = self.checker.row_cost.as_secs_f64().max(1e-9);
        ((CHECK_SHARE * call.as_secs_f64() / row) as usize).clamp(1, 64)
    }
}
