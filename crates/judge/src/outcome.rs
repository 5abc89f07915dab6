//! From units and summaries to a judgement's words. Pure.

use crate::pairing::ProcessPair;
use model::{Estimate, Fidelity, Interval, Seconds, ShapeJudgement, Verdict};

/// Result of one workload before it becomes a `ShapeJudgement`.
pub struct Measured {
    /// What the session says.
    pub summary: stats::Summary,
    /// The process pairs.
    pub units: Vec<ProcessPair>,
    /// Whether the design ended it, or time did.
    pub progress: stats::Progress,
}

/// The test that a fidelity asks for; none where nothing is timed.
pub fn design(fidelity: Fidelity, margin: f64, sigma: f64) -> Option<stats::Design> {
    let clip = stats::Clip::of_sigma(sigma);
    match fidelity {
        Fidelity::Gate => None,
        Fidelity::Fixed { alpha, process_pairs } => {
            Some(stats::Design::fixed(alpha, margin, clip, process_pairs as usize))
        }
        Fidelity::Anytime { alpha, max_process_pairs } => {
            Some(stats::Design::anytime(alpha, margin, clip, max_process_pairs as usize))
        }
    }
}

/// What the evidence says. Where time ended a fixed-n test and not its design, that is no answer.
pub fn decided(summary: &stats::Summary, progress: stats::Progress) -> Verdict {
    match summary.decision {
        _ if progress == stats::Progress::Continue && summary.p.is_some() => Verdict::Undecided,
        stats::Decision::Better => Verdict::Better,
        stats::Decision::Worse => Verdict::Worse,
        stats::Decision::Equivalent => Verdict::Equivalent,
        stats::Decision::Undecided => Verdict::Undecided,
    }
}

/// Puts what was measured into the workload's judgement.
pub fn fill(shape: &mut ShapeJudgement, measured: &Measured) {
    let summary = &measured.summary;
    shape.verdict = decided(summary, measured.progress);
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
pub fn normalise(shape: &mut ShapeJudgement, ratio: f64) {
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
pub fn survives(first: &ShapeJudgement) -> bool {
    match first.verdict {
        Verdict::Better => true,
        Verdict::Equivalent | Verdict::Undecided => first.ln.is_some_and(|ln| ln.value < 0.0),
        _ => false,
    }
}

/// Better only when something is better and nothing is worse; the first failure otherwise.
pub fn combined(shapes: &[ShapeJudgement]) -> Verdict {
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Rule, Workload};

    fn shape(verdict: Verdict, value: f64) -> ShapeJudgement {
        ShapeJudgement {
            workload: Workload { name: "len=1".to_owned(), axes: [("len".to_owned(), 1)].into() },
            verdict,
            ln: Some(Estimate { value, interval: Interval { low: value - 0.01, high: value + 0.01 } }),
            e: Some(200.0),
            p: None,
            units: vec![value],
            pairs: 2,
            candidate: Some(Seconds(2.0)),
            against: Some(Seconds(4.0)),
            checks: 1,
            worst_error: 0.0,
        }
    }

    #[test]
    fn one_answer_over_the_workloads() {
        let check = |verdicts: &[Verdict], expected: Verdict| {
            let shapes: Vec<_> = verdicts.iter().map(|verdict| shape(verdict.clone(), 0.0)).collect();
            assert_eq!(combined(&shapes), expected, "{verdicts:?}");
        };
        let refused = Verdict::Refused { rule: Rule::SystemCall, detail: String::new() };
        check(&[Verdict::Better, Verdict::Equivalent], Verdict::Better);
        check(&[Verdict::Better, Verdict::Undecided], Verdict::Better);
        check(&[Verdict::Better, Verdict::Worse], Verdict::Undecided);
        check(&[Verdict::Worse, Verdict::Equivalent], Verdict::Worse);
        check(&[Verdict::Equivalent, Verdict::Undecided], Verdict::Undecided);
        check(&[Verdict::Equivalent, Verdict::Equivalent], Verdict::Equivalent);
        check(&[Verdict::Better, refused.clone()], refused);
    }

    #[test]
    fn survivors() {
        let check = |verdict, value, expected: bool| assert_eq!(survives(&shape(verdict, value)), expected);
        check(Verdict::Better, -0.1, true);
        check(Verdict::Undecided, -0.1, true);
        check(Verdict::Undecided, 0.1, false);
        check(Verdict::Equivalent, -0.001, true);
        check(Verdict::Worse, 0.1, false);
    }

    #[test]
    fn a_ceiling_is_compared_at_equal_work() {
        // The probe does three times the candidate's work in twice its time: the candidate runs at 2/3 of the ceiling.
        let mut shape = shape(Verdict::Undecided, (2.0_f64 / 4.0).ln());
        normalise(&mut shape, 3.0);
        let ln = shape.ln.unwrap();
        assert!(((-ln.value).exp() - 2.0 / 3.0).abs() < 1e-12);
        assert!((shape.against.unwrap().0 - 4.0 / 3.0).abs() < 1e-12);
        assert_eq!(shape.verdict, Verdict::Worse);
    }
}
