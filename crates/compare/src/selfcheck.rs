//! The rig judges itself: identical and slowed arms on real and simulated clocks, our rules beside the usual ones.
//!
//! It reports what comes out. It sets no limits: those belong to the bench that calls it.

mod kernels;

pub use kernels::{CALL_SECONDS, Clock, CpuBound, MemoryBound, NoisyNeighbour, SimulatedClock};

use crate::interrupt;
use serde::{Deserialize, Serialize};
use stats::{
    Clip, Decision, Design, Interval, Progress, Session, SplitMix, clopper_pearson, mann_whitney, robust, welch,
};
use std::fmt::Write as _;

/// Units of the burn-in that fixes the clip.
const BURN_IN: usize = 20;
/// A difference of minima below this is noise to those who use it.
const MINIMUM_THRESHOLD: f64 = 0.005;

/// What to try.
#[derive(Clone, Debug)]
pub struct SelfCheck {
    /// Injected effects: 0 is identical arms, 0.01 is 1 % more work.
    pub effects: Vec<f64>,
    /// Windows an effect.
    pub windows: usize,
    /// Pairs a window; the sequential rules get as many runs of each arm.
    pub pairs: usize,
    /// Error rate of every test.
    pub alpha: f64,
    /// Seed of the coins.
    pub seed: u64,
}

impl Default for SelfCheck {
    fn default() -> Self {
        Self { effects: vec![0.0, 0.003, 0.01, 0.02, 0.05], windows: 200, pairs: 200, alpha: 0.01, seed: 0 }
    }
}

/// A way to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleTried {
    /// Ours: the e-process on coin-flipped pairs, stopping early.
    Anytime,
    /// Ours: the sign-flip test on all of the window's pairs.
    Fixed,
    /// Welch's t on two sequential blocks.
    Welch,
    /// Mann and Whitney on two sequential blocks.
    MannWhitney,
    /// The minima of two sequential blocks, 0.5 % apart or not.
    Minimum,
}

impl RuleTried {
    /// All, ours first.
    pub const ALL: [Self; 5] = [Self::Anytime, Self::Fixed, Self::Welch, Self::MannWhitney, Self::Minimum];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anytime => "rooflab, in a budget",
            Self::Fixed => "rooflab, fixed n",
            Self::Welch => "Welch's t, sequential",
            Self::MannWhitney => "Mann-Whitney, sequential",
            Self::Minimum => "minimum of n, sequential, 0.5 %",
        }
    }
}

/// One rule on one clock at one effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The clock's name.
    pub clock: String,
    /// Injected effect.
    pub effect: f64,
    /// The rule.
    pub rule: RuleTried,
    /// Windows tried.
    pub windows: usize,
    /// Windows in which it saw the injected effect with its sign.
    pub right: usize,
    /// Windows in which it saw a difference that is not there, or the wrong sign.
    pub wrong: usize,
    /// Median number of pairs that it took.
    pub pairs: f64,
    /// Clopper-Pearson interval (95 %) of the rate of right windows.
    pub right_interval: [f64; 2],
    /// Clopper-Pearson interval (95 %) of the rate of wrong windows.
    pub wrong_interval: [f64; 2],
}

impl Row {
    /// Windows without an answer. At effect 0 that is the right thing to say.
    pub fn silent(&self) -> usize {
        self.windows - self.right - self.wrong
    }
}

impl SelfCheck {
    /// Pairs of a window of so many seconds: half of it goes to interleaved pairs, half to the two sequential blocks.
    #[must_use]
    pub fn pairs_in(seconds: f64) -> usize {
        ((seconds / (4.0 * CALL_SECONDS)) as usize).max(BURN_IN)
    }
}

/// What a rule said, and after how many pairs.
type Answer = (RuleTried, Decision, usize);

/// The raw data of one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// The clock's name.
    pub clock: String,
    /// Injected effect.
    pub effect: f64,
    /// Its number.
    pub window: usize,
    /// ln(t_A' / t_A) of the burn-in.
    pub burn_in: Vec<f64>,
    /// ln(t_B / t_A) of the coin-flipped pairs, in their order.
    pub pairs: Vec<f64>,
    /// The sequential block of A, seconds.
    pub a: Vec<f64>,
    /// The sequential block of B, seconds.
    pub b: Vec<f64>,
    /// Rule, decision, pairs that it took.
    pub answers: Vec<(RuleTried, Decision, usize)>,
}

/// What happened, told between windows.
#[derive(Clone, Copy, Debug)]
pub enum Told<'a> {
    /// A window is complete.
    Window(&'a Window),
    /// All windows of an effect are complete: one rule's row.
    Row(&'a Row),
}

/// Tries all rules on a clock. Ends early when interrupted.
pub fn run(check: &SelfCheck, clock: &mut dyn Clock, on: &mut dyn FnMut(Told<'_>)) -> Vec<Row> {
    let mut random = SplitMix::new(check.seed);
    let mut rows = Vec::new();
    for effect in &check.effects {
        let mut answers: Vec<Answer> = Vec::new();
        for number in 0..check.windows {
            if interrupt::asked() {
                return rows;
            }
            let found = Window { window: number, ..window(check, clock, *effect, &mut random) };
            answers.extend(&found.answers);
            on(Told::Window(&found));
        }
        for rule in RuleTried::ALL {
            let row = summed(clock.name(), *effect, rule, &answers);
            on(Told::Row(&row));
            rows.push(row);
        }
    }
    rows
}

fn summed(clock: String, effect: f64, rule: RuleTried, answers: &[Answer]) -> Row {
    let own: Vec<&Answer> = answers.iter().filter(|answer| answer.0 == rule).collect();
    let count = |wanted: &dyn Fn(Decision) -> bool| own.iter().filter(|answer| wanted(answer.1)).count();
    let expected = match effect {
        more if more > 0.0 => Some(Decision::Worse),
        less if less < 0.0 => Some(Decision::Better),
        _ => None,
    };
    let told = |decision: Decision| matches!(decision, Decision::Better | Decision::Worse);
    let right = count(&|decision| Some(decision) == expected);
    let wrong = count(&|decision| told(decision) && Some(decision) != expected);
    let interval = |hits: usize| {
        let Interval { low, high } = clopper_pearson(hits, own.len(), 0.05);
        [low, high]
    };
    let pairs = robust::median(&own.iter().map(|answer| answer.2 as f64).collect::<Vec<_>>());
    Row {
        clock,
        effect,
        rule,
        windows: own.len(),
        right,
        wrong,
        pairs,
        right_interval: interval(right),
        wrong_interval: interval(wrong),
    }
}

fn window(check: &SelfCheck, clock: &mut dyn Clock, effect: f64, random: &mut SplitMix) -> Window {
    let mut found = interleaved(check, clock, effect, random);
    let mut block = |work: f64| -> Vec<f64> { (0..check.pairs).map(|_| clock.time(work)).collect() };
    // Which block comes first is up to the user of such a rule.
    let (a, b) = if random.bits() & 1 == 0 {
        let a = block(1.0);
        (a, block(1.0 + effect))
    } else {
        let b = block(1.0 + effect);
        (block(1.0), b)
    };
    let by_test = |rival: stats::Rival| match rival {
        quiet if quiet.p > check.alpha => Decision::Undecided,
        more if more.statistic > 0.0 => Decision::Worse,
        _ => Decision::Better,
    };
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let apart = (least(&b) / least(&a)).ln();
    let by_minimum = match apart {
        near if near.abs() <= MINIMUM_THRESHOLD => Decision::Undecided,
        more if more > 0.0 => Decision::Worse,
        _ => Decision::Better,
    };
    found.answers.push((RuleTried::Welch, by_test(welch(&a, &b)), check.pairs));
    found.answers.push((RuleTried::MannWhitney, by_test(mann_whitney(&a, &b)), check.pairs));
    found.answers.push((RuleTried::Minimum, by_minimum, check.pairs));
    Window { a, b, ..found }
}

/// Both of our rules on the same pairs.
fn interleaved(check: &SelfCheck, clock: &mut dyn Clock, effect: f64, random: &mut SplitMix) -> Window {
    let mut pair = |b: f64| -> f64 {
        if random.bits() & 1 == 0 {
            let first = clock.time(1.0);
            (clock.time(b) / first).ln()
        } else {
            let first = clock.time(b);
            (first / clock.time(1.0)).ln()
        }
    };
    // The burn-in is identical arms, as in a real comparison.
    let burn_in: Vec<f64> = (0..BURN_IN).map(|_| pair(1.0)).collect();
    let clip = Clip::of_burn_in(&burn_in);
    let mut anytime = Session::new(Design::budgeted(check.alpha, 0.0, clip, check.pairs));
    let mut fixed = Session::new(Design::fixed(check.alpha, 0.0, clip, check.pairs));
    let (mut first, mut last) = (None, None);
    let mut pairs = Vec::with_capacity(check.pairs);
    for _ in 0..check.pairs {
        let y = pair(1.0 + effect);
        pairs.push(y);
        if first.is_none()
            && let Progress::Stop(summary) = anytime.push(y)
        {
            first = Some((RuleTried::Anytime, summary.decision, summary.n));
        }
        if let Progress::Stop(summary) = fixed.push(y) {
            last = Some((RuleTried::Fixed, summary.decision, summary.n));
        }
    }
    let answers = [first, last].into_iter().flatten().collect();
    Window { clock: clock.name(), effect, window: 0, burn_in, pairs, a: Vec::new(), b: Vec::new(), answers }
}

/// The rows as a table: a line for each clock and rule, a column for each effect.
pub fn markdown(rows: &[Row]) -> String {
    let mut effects: Vec<f64> = rows.iter().map(|row| row.effect).collect();
    effects.sort_by(f64::total_cmp);
    effects.dedup();
    let mut text = "| clock | rule |".to_owned();
    for effect in &effects {
        let _ = match effect {
            0.0 => write!(text, " A/A: wrong |"),
            _ => write!(text, " {:+.1} %: right, wrong |", 100.0 * effect),
        };
    }
    let _ = writeln!(text, " median pairs at the largest |\n|---|---|{}", "--:|".repeat(effects.len() + 1));
    for lead in rows.iter().filter(|row| row.effect == effects[0]) {
        let _ = write!(text, "| {} | {} |", lead.clock, lead.rule.name());
        let own = |effect: &f64| {
            rows.iter().find(|row| row.clock == lead.clock && row.rule == lead.rule && row.effect == *effect)
        };
        for effect in &effects {
            let _ = write!(text, " {} |", own(effect).map_or_else(|| "-".to_owned(), cell));
        }
        let _ = writeln!(text, " {:.0} |", effects.last().and_then(own).map_or(f64::NAN, |row| row.pairs));
    }
    text
}

fn cell(row: &Row) -> String {
    let share = |hits: usize, [low, high]: [f64; 2]| {
        let rate = 100.0 * hits as f64 / row.windows.max(1) as f64;
        format!("{rate:.1} % [{:.1}, {:.1}]", 100.0 * low, 100.0 * high)
    };
    if row.effect == 0.0 {
        share(row.wrong, row.wrong_interval)
    } else {
        format!("{}, {}", share(row.right, row.right_interval), share(row.wrong, row.wrong_interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(drift: f64) -> Vec<Row> {
        let check = SelfCheck { effects: vec![0.0, 0.02], windows: 60, pairs: 80, ..SelfCheck::default() };
        run(&check, &mut SimulatedClock::new(0.005, drift, 3), &mut |_| ())
    }

    fn row(rows: &[Row], rule: RuleTried, effect: f64) -> &Row {
        rows.iter().find(|row| row.rule == rule && row.effect == effect).unwrap()
    }

    #[test]
    fn on_a_drifting_clock_pairs_stay_right_and_blocks_do_not() {
        let rows = rows(0.003);
        for rule in [RuleTried::Anytime, RuleTried::Fixed] {
            // At a true 1 % more than 4 of 60 come once in 2,500 runs.
            assert!(row(&rows, rule, 0.0).wrong <= 4, "{rule:?}: {:?}", row(&rows, rule, 0.0));
            assert!(row(&rows, rule, 0.02).right >= 55, "{rule:?}: {:?}", row(&rows, rule, 0.02));
            assert_eq!(row(&rows, rule, 0.02).wrong, 0);
        }
        for rule in [RuleTried::Welch, RuleTried::MannWhitney] {
            assert!(row(&rows, rule, 0.0).wrong > 20, "{rule:?}: {:?}", row(&rows, rule, 0.0));
        }
    }

    #[test]
    fn on_a_calm_clock_ours_are_right_and_quick() {
        let rows = rows(0.0);
        for rule in RuleTried::ALL {
            let found = row(&rows, rule, 0.02);
            // Outliers cost Welch's t its power even here.
            assert!(found.right >= 55 || matches!(rule, RuleTried::Minimum | RuleTried::Welch), "{found:?}");
            assert_eq!(found.right + found.wrong + found.silent(), 60);
        }
        assert!(row(&rows, RuleTried::Anytime, 0.02).pairs < 40.0);
    }

    #[test]
    fn real_kernels_take_time_that_grows_with_the_work() {
        for clock in [&mut CpuBound::new() as &mut dyn Clock, &mut MemoryBound::new()] {
            assert!(clock.time(1.0) > 0.0);
            let check = SelfCheck { effects: vec![5.0], windows: 1, pairs: 30, ..SelfCheck::default() };
            let rows = run(&check, clock, &mut |_| ());
            assert_eq!(row(&rows, RuleTried::Fixed, 5.0).right, 1, "{}", clock.name());
        }
        drop(NoisyNeighbour::start());
    }

    #[test]
    fn every_window_is_told_with_its_raw_data() {
        let check = SelfCheck { effects: vec![0.0, 0.05], windows: 2, pairs: 40, ..SelfCheck::default() };
        let (mut windows, mut rows) = (Vec::new(), 0);
        let mut on = |told: Told<'_>| match told {
            Told::Window(window) => windows.push(window.clone()),
            Told::Row(_) => rows += 1,
        };
        run(&check, &mut SimulatedClock::new(0.005, 0.0, 3), &mut on);
        assert_eq!((windows.len(), rows), (4, 2 * RuleTried::ALL.len()));
        let last = &windows[3];
        assert_eq!((last.effect, last.window, last.pairs.len(), last.a.len(), last.b.len()), (0.05, 1, 40, 40, 40));
        assert_eq!(last.answers.len(), RuleTried::ALL.len());
        assert_eq!(SelfCheck::pairs_in(0.12), 100);
    }

    #[test]
    fn table() {
        let text = markdown(&rows(0.0));
        assert!(text.starts_with("| clock | rule | A/A: wrong | +2.0 %: right, wrong |"), "{text}");
        assert_eq!(text.lines().count(), 2 + RuleTried::ALL.len());
    }
}
