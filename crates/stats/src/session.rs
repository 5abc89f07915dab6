//! The state machine that drives a comparison: y in, "go on" or a summary out. It flips no coin and reads no clock.

use crate::anytime::{Anytime, rho};
use crate::clip::Clip;
use crate::estimate::{anytime_interval, anytime_interval_at, hodges_lehmann, interval};
use crate::sign_flip::sign_flip_p;
use crate::verdict::{Decision, Estimate, Interval};
use serde::{Deserialize, Serialize};

/// Share of the error rate that a budgeted comparison keeps for its last look; the looks on the way have the rest.
///
/// A look after every unit pays for its freedom with a wider interval: at 1 % it needs 3.6 standard errors, one look at a
/// planned end needs 2.6. With the error rate divided so, a wide lead is still seen early (4.0) and a narrow one at the
/// end (2.7), and the two together err no more often than either would with the whole.
pub const LAST_LOOK: f64 = 0.8;

/// Least and largest n_opt of a budgeted comparison: fewer full units than 17 cannot decide at a fifth of 1 %.
const N_OPT: std::ops::RangeInclusive<f64> = 17.0..=100.0;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Looks after every unit and stops as soon as the question is answered.
    Anytime,
    /// Looks once, after `max_units`.
    Fixed,
}

/// What the comparison is for: where an anytime session may stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Is there a difference? Stops when 0 is excluded, or the interval lies inside the margin.
    #[default]
    Difference,
    /// Is B worse by more than the margin? Stops when the interval lies wholly on one side of +margin.
    Gate,
}

/// A comparison's design, fixed before its first unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Error rate.
    pub alpha: f64,
    /// Differences of ln time inside +-margin do not matter.
    pub margin: f64,
    /// From a burn-in that is not counted.
    pub clip: Clip,
    /// Units at which the anytime test should be most powerful.
    pub n_opt: f64,
    /// An anytime session does not stop before; nothing to a fixed one.
    pub min_units: usize,
    /// Stops here at the latest; the n of a fixed session.
    pub max_units: usize,
    /// When to stop.
    pub rule: Rule,
    /// What for.
    pub question: Question,
    /// Seed of the sign-flip test's random signs.
    pub seed: u64,
    /// Share of `alpha` that an anytime session keeps for one look at its planned end; 0 for none.
    #[serde(default)]
    pub last_look: f64,
}

impl Design {
    /// An anytime comparison about a difference.
    pub fn anytime(alpha: f64, margin: f64, clip: Clip, max_units: usize) -> Self {
        Self {
            alpha,
            margin,
            clip,
            // Fewer cannot decide at 1 %: 13 full units are the least.
            n_opt: 13.0,
            min_units: 1,
            max_units,
            rule: Rule::Anytime,
            question: Question::Difference,
            seed: 0,
            last_look: 0.0,
        }
    }

    /// An anytime comparison that is given up after `max_units`, or when its time is spent, and then looked at once
    /// more: see [`LAST_LOOK`].
    pub fn budgeted(alpha: f64, margin: f64, clip: Clip, max_units: usize) -> Self {
        Self {
            // A fifth of the budget: differences that need more are found a little later, easy ones hardly so.
            n_opt: (max_units as f64 / 5.0).clamp(*N_OPT.start(), *N_OPT.end()),
            last_look: LAST_LOOK,
            ..Self::anytime(alpha, margin, clip, max_units)
        }
    }

    /// A comparison of exactly `n` units.
    pub fn fixed(alpha: f64, margin: f64, clip: Clip, n: usize) -> Self {
        Self { rule: Rule::Fixed, ..Self::anytime(alpha, margin, clip, n) }
    }

    /// Error rate of the looks on the way.
    pub fn early_alpha(&self) -> f64 {
        self.alpha * (1.0 - self.last_look)
    }

    /// Fewest units that a look at the planned end can decide by.
    pub fn least_units(&self) -> usize {
        let late = if self.rule == Rule::Fixed { self.alpha } else { self.alpha * self.last_look };
        (1.0 - late.log2()).ceil() as usize
    }

    /// Fewest units by which the looks on the way can decide: those of an arm that wins by far, every time. At most
    /// `max_units`.
    pub fn fewest_units(&self) -> usize {
        let mut test = self.test();
        let decides = |_: &usize| {
            test.push(f64::INFINITY);
            test.rejects()
        };
        (1..self.max_units).find(decides).unwrap_or(self.max_units)
    }

    /// V at which the anytime test is aimed.
    fn v_opt(&self) -> f64 {
        self.n_opt * self.clip.mean_square
    }

    fn test(&self) -> Anytime {
        Anytime::new(self.clip.at, self.v_opt(), self.early_alpha())
    }
}

/// What a comparison found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// B against A.
    pub decision: Decision,
    /// Of ln(t_B / t_A).
    pub estimate: Estimate,
    /// The anytime test's e-value against "no difference".
    pub e: Option<f64>,
    /// p of the one look at a planned end, where it has been taken.
    pub p: Option<f64>,
    /// Units counted.
    pub n: usize,
}

/// Whether more units are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// Measure one more.
    Continue,
    /// Stop here.
    Stop(Summary),
}

/// A running comparison.
#[derive(Clone, Debug)]
pub struct Session {
    design: Design,
    ys: Vec<f64>,
    /// Whether the planned end has come before `max_units`.
    spent: bool,
    /// Tests of y - theta at theta = 0, +margin, -margin.
    zero: Anytime,
    above: Anytime,
    below: Anytime,
}

impl Session {
    /// Begins; nothing is counted yet.
    pub fn new(design: Design) -> Self {
        let test = design.test();
        Self { design, ys: Vec::new(), spent: false, zero: test.clone(), above: test.clone(), below: test }
    }

    /// Counts one unit. Units beyond an early stop are counted too: the caller may go on, but not beyond a last look.
    pub fn push(&mut self, y: f64) -> Progress {
        assert!(y.is_finite(), "y is {y}: a unit without two positive times must not be counted");
        assert!(!self.is_last_look(), "the last look has been taken: another one would be a second");
        self.ys.push(y);
        self.zero.push(y);
        self.above.push(y - self.design.margin);
        self.below.push(y + self.design.margin);
        if self.stops() { Progress::Stop(self.summary()) } else { Progress::Continue }
    }

    /// The time is spent, so the planned end is here: the summary is the last look. Sound where the end hangs on how
    /// long the units took, not on which side was faster.
    pub fn spend(&mut self) {
        self.spent = true;
    }

    fn is_last_look(&self) -> bool {
        let ended = self.spent || self.ys.len() >= self.design.max_units;
        ended && self.design.rule == Rule::Anytime && self.design.last_look > 0.0
    }

    fn stops(&self) -> bool {
        let n = self.ys.len();
        let answered = || match self.design.question {
            Question::Difference => self.zero.rejects() || self.inside_margin(),
            Question::Gate => self.above.rejects(),
        };
        n >= self.design.max_units || (self.design.rule == Rule::Anytime && n >= self.design.min_units && answered())
    }

    /// Whether both ends of the margin are rejected from within.
    fn inside_margin(&self) -> bool {
        self.above.rejects() && self.above.sum() < 0.0 && self.below.rejects() && self.below.sum() > 0.0
    }

    /// What the units so far say. For a fixed session before its last unit: a preview that must not be acted on.
    pub fn summary(&self) -> Summary {
        let Design { alpha, margin, clip, n_opt, seed, last_look, .. } = self.design;
        let p = || Some(sign_flip_p(&self.ys, clip.at, seed));
        let early = || anytime_interval(&self.ys, clip, n_opt, self.design.early_alpha(), &[0.0, margin, -margin]);
        let (interval, e, p) = match self.design.rule {
            // Both hold the centre, so they have a part in common.
            Rule::Anytime if self.is_last_look() => {
                (early().and(interval(&self.ys, clip.at, alpha * last_look)), Some(self.zero.e()), p())
            }
            Rule::Anytime => (early(), Some(self.zero.e()), None),
            Rule::Fixed => (interval(&self.ys, clip.at, alpha), None, p()),
        };
        let value = hodges_lehmann(&self.ys).clamp(interval.low, interval.high);
        Summary {
            decision: Decision::of(interval, margin),
            estimate: Estimate { value, low: interval.low, high: interval.high },
            e,
            p,
            n: self.ys.len(),
        }
    }

    /// Interval of the same anytime test at an error rate of `level`: for the comparisons that e-BH accepts.
    pub fn interval_at(&self, level: f64) -> Interval {
        let rho = rho(self.design.v_opt(), self.design.early_alpha());
        anytime_interval_at(&self.ys, self.design.clip, rho, level, &[0.0])
    }

    /// The e-value against "no difference", whatever the rule.
    pub fn e(&self) -> f64 {
        self.zero.e()
    }

    /// The y counted so far.
    pub fn units(&self) -> &[f64] {
        &self.ys
    }

    /// The design.
    pub fn design(&self) -> &Design {
        &self.design
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal_quantile;
    use crate::splitmix::SplitMix;

    const CLIP: Clip = Clip { at: 0.03, mean_square: 1e-4 };

    fn drive(design: Design, shift: f64, sigma: f64) -> Summary {
        let mut random = SplitMix::new(11);
        let mut session = Session::new(design);
        loop {
            let y = shift + sigma * normal_quantile(random.unit().max(1e-12));
            if let Progress::Stop(summary) = session.push(y) {
                assert_eq!(summary, session.summary());
                return summary;
            }
        }
    }

    #[test]
    fn each_decision_at_its_time() {
        let anytime = Design::anytime(0.01, 0.005, CLIP, 3000);
        let check = |design: Design, shift: f64, decision: Decision, n: std::ops::Range<usize>| {
            let found = drive(design, shift, 0.01);
            assert_eq!(found.decision, decision, "{shift}: {found:?}");
            assert!(n.contains(&found.n), "{shift}: {found:?}");
        };
        check(anytime, 0.03, Decision::Worse, 13..25);
        check(anytime, -0.03, Decision::Better, 13..25);
        check(anytime, 0.0, Decision::Equivalent, 40..400);
        check(Design { max_units: 20, ..anytime }, 0.0, Decision::Undecided, 20..21);
        check(Design { min_units: 60, ..anytime }, 0.03, Decision::Worse, 60..61);
        let fixed = Design::fixed(0.01, 0.005, CLIP, 40);
        check(fixed, 0.03, Decision::Worse, 40..41);
        check(fixed, -0.03, Decision::Better, 40..41);
        check(Design::fixed(0.01, 0.005, CLIP, 12), 0.0, Decision::Undecided, 12..13);
        check(Design::fixed(0.01, 0.01, CLIP, 100), 0.0, Decision::Equivalent, 100..101);
    }

    #[test]
    fn a_gate_goes_on_until_the_margin_is_answered() {
        let gate = Design { question: Question::Gate, ..Design::anytime(0.01, 0.005, CLIP, 5000) };
        let worse = drive(gate, 0.012, 0.01);
        assert!(worse.estimate.low > 0.005, "{worse:?}");
        let harmless = drive(gate, 0.0, 0.01);
        assert!(harmless.estimate.high < 0.005, "{harmless:?}");
        let difference = drive(Design { question: Question::Difference, ..gate }, 0.012, 0.01);
        assert!(difference.n < worse.n && difference.estimate.low > 0.0, "{difference:?} {worse:?}");
    }

    #[test]
    fn a_last_look_sees_what_the_looks_on_the_way_did_not() {
        // 60 units of half a sigma each: 3.9 standard errors on average.
        let (mut early, mut late) = (0, 0);
        for seed in 0..40 {
            let mut random = SplitMix::new(seed);
            let ys: Vec<f64> = (0..60).map(|_| 0.005 + 0.01 * normal_quantile(random.unit().max(1e-12))).collect();
            let decided = |design: Design| {
                let mut session = Session::new(design);
                let stop = ys.iter().find_map(|y| match session.push(*y) {
                    Progress::Stop(summary) => Some(summary),
                    Progress::Continue => None,
                });
                stop.unwrap().decision == Decision::Worse
            };
            early += usize::from(decided(Design::anytime(0.01, 0.0, CLIP, 60)));
            late += usize::from(decided(Design::budgeted(0.01, 0.0, CLIP, 60)));
        }
        assert!(late >= early + 8 && late > 30, "{early} {late}");
    }

    #[test]
    fn a_last_look_is_the_common_part_of_two_intervals_and_reports_both_tests() {
        let mut session = Session::new(Design { min_units: 100, ..Design::budgeted(0.01, 0.0, CLIP, 100) });
        let ys: Vec<f64> = (0..40).map(|i| 0.005 + 0.002 * f64::from(i % 7 - 3)).collect();
        for y in &ys {
            assert_eq!(session.push(*y), Progress::Continue);
        }
        assert_eq!(session.units(), ys);
        let on_the_way = session.summary();
        session.spend();
        let last = session.summary();
        assert!(on_the_way.p.is_none() && last.p.unwrap() <= 0.008 && last.e == on_the_way.e);
        let (early, late) = (on_the_way.estimate.interval(), interval(&ys, CLIP.at, 0.008));
        assert_eq!(
            last.estimate.interval(),
            Interval { low: early.low.max(late.low), high: early.high.min(late.high) }
        );
        assert!(late.low > early.low, "{late:?} {early:?}");
        // Without a share there is no last look.
        let mut plain = Session::new(Design { last_look: 0.0, ..*session.design() });
        assert!(ys.iter().all(|y| plain.push(*y) == Progress::Continue));
        plain.spend();
        assert!(plain.summary().p.is_none());
    }

    #[test]
    fn few_units_decide_by_a_last_look_where_the_looks_on_the_way_cannot() {
        let check = |n: usize, decision: Decision| {
            let design = Design::budgeted(0.01, 0.0, CLIP, n);
            assert_eq!(drive(design, 0.03, 0.001).decision, decision, "{n}");
            assert_eq!(design.least_units(), 8);
        };
        check(7, Decision::Undecided);
        check(8, Decision::Worse);
        assert_eq!(Design::fixed(0.01, 0.0, CLIP, 9).least_units(), 8);
        assert_eq!(Design::fixed(0.05, 0.0, CLIP, 9).least_units(), 6);
        assert_eq!(Design::budgeted(0.05, 0.0, CLIP, 9).least_units(), 6);
    }

    #[test]
    fn a_difference_of_any_size_takes_so_many_units() {
        let check = |alpha: f64, expected: usize| {
            let design = Design::anytime(alpha, 0.005, Clip::of_sigma(0.01), 60);
            assert_eq!(design.fewest_units(), expected, "{alpha}");
            // A hundred times faster, and not one unit less.
            let found = drive(design, -4.6, 0.001);
            assert_eq!((found.decision, found.n), (Decision::Better, expected), "{alpha}: {found:?}");
        };
        check(0.03, 11);
        check(0.01, 14);
        check(1e-4, 24);
        assert_eq!(Design::anytime(1e-9, 0.005, CLIP, 20).fewest_units(), 20);
    }

    #[test]
    fn a_budget_aims_at_a_fifth_of_it() {
        let aim = |units| Design::budgeted(0.01, 0.0, CLIP, units).n_opt;
        assert_eq!([aim(10), aim(200), aim(3000)], [17.0, 40.0, 100.0]);
        assert!((Design::budgeted(0.01, 0.0, CLIP, 9).early_alpha() - 0.002).abs() < 1e-15);
        assert_eq!(Design::anytime(0.01, 0.0, CLIP, 9).early_alpha(), 0.01);
    }

    #[test]
    #[should_panic(expected = "second")]
    fn there_is_one_last_look() {
        let mut session = Session::new(Design::budgeted(0.01, 0.0, CLIP, 9));
        session.push(0.01);
        session.spend();
        session.push(0.01);
    }

    #[test]
    fn a_stricter_level_gives_a_wider_interval() {
        let mut session = Session::new(Design::anytime(0.05, 0.0, CLIP, 100));
        for i in 0..60 {
            session.push(0.02 + 0.001 * f64::from(i % 7));
        }
        let (loose, strict) = (session.interval_at(0.05), session.interval_at(0.001));
        assert!(strict.low < loose.low && loose.high < strict.high, "{loose:?} {strict:?}");
        assert_eq!(loose, session.summary().estimate.interval());
        assert_eq!(Some(session.e()), session.summary().e);
    }

    #[test]
    fn only_its_own_test_reports() {
        let anytime = drive(Design::anytime(0.01, 0.005, CLIP, 50), 0.03, 0.01);
        assert!(anytime.e.unwrap() >= 100.0 && anytime.p.is_none());
        let fixed = drive(Design::fixed(0.01, 0.005, CLIP, 12), 0.03, 0.01);
        assert!(fixed.p.unwrap() <= 0.01 && fixed.e.is_none());
    }

    #[test]
    #[should_panic(expected = "two positive times")]
    fn a_unit_without_time_is_a_bug() {
        Session::new(Design::anytime(0.01, 0.0, CLIP, 5)).push(f64::INFINITY);
    }

    #[test]
    fn zero_margin_is_never_equivalent() {
        let found = drive(Design::anytime(0.01, 0.0, CLIP, 300), 0.0, 0.01);
        assert!(matches!(found.decision, Decision::Undecided), "{found:?}");
        assert_eq!(found.n, 300);
    }
}
