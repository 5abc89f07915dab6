//! The rig judges itself: identical and slowed arms on real and simulated clocks, our rules beside the usual ones.
//!
//! It reports what comes out. It sets no limits: those belong to the bench that calls it.

mod kernels;

pub use kernels::{Clock, CpuBound, MemoryBound, NoisyNeighbour, SimulatedClock};

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
            Self::Anytime => "rooflab, anytime",
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

/// What a rule said, and after how many pairs.
type Answer = (RuleTried, Decision, usize);

/// Tries all rules on a clock; `on_row` gets each row as it is complete. Ends early when interrupted.
pub fn run(check: &SelfCheck, clock: &mut dyn Clock, on_row: &mut dyn FnMut(&Row)) -> Vec<Row> {
    let mut random = SplitMix::new(check.seed);
    let mut rows = Vec::new();
    for effect in &check.effects {
        let mut answers: Vec<Answer> = Vec::new();
        for _ in 0..check.windows {
            if interrupt::asked() {
                return rows;
            }
            answers.extend(window(check, clock, *effect, &mut random));
        }
        for rule in RuleTried::ALL {
            let row = summed(clock.name(), *effect, rule, &answers);
            on_row(&row);
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

fn window(check: &SelfCheck, clock: &mut dyn Clock, effect: f64, random: &mut SplitMix) -> Vec<Answer> {
    let mut answers = interleaved(check, clock, effect, random);
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
    answers.push((RuleTried::Welch, by_test(welch(&a, &b)), check.pairs));
    answers.push((RuleTried::MannWhitney, by_test(mann_whitney(&a, &b)), check.pairs));
    answers.push((RuleTried::Minimum, by_minimum, check.pairs));
    answers
}

/// Both of our rules on the same pairs.
fn interleaved(check: &SelfCheck, clock: &mut dyn Clock, effect: f64, random: &mut SplitMix) -> Vec<Answer> {
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
    let n_opt = (check.pairs as f64 / 5.0).clamp(13.0, 100.0);
    let mut anytime = Session::new(Design { n_opt, ..Design::anytime(check.alpha, 0.0, clip, check.pairs) });
    let mut fixed = Session::new(Design::fixed(check.alpha, 0.0, clip, check.pairs));
    let (mut first, mut last) = (None, None);
    for _ in 0..check.pairs {
        let y = pair(1.0 + effect);
        if first.is_none()
            && let Progress::Stop(summary) = anytime.push(y)
        {
            first = Some((RuleTried::Anytime, summary.decision, summary.n));
        }
        if let Progress::Stop(summary) = fixed.push(y) {
            last = Some((RuleTried::Fixed, summary.decision, summary.n));
        }
    }
    [first, last].into_iter().flatten().collect()
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
    fn table() {
        let text = markdown(&rows(0.0));
        assert!(text.starts_with("| clock | rule | A/A: wrong | +2.0 %: right, wrong |"), "{text}");
        assert_eq!(text.lines().count(), 2 + RuleTried::ALL.len());
    }
}
