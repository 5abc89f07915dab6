//! Samples that others took. For sequential blocks it says what cannot be known instead of giving a verdict that they
//! cannot support; pairs of our own are judged again.

use crate::environment::Warning;
use crate::outcome::{ArmReport, Comparison, Outcome, effect_of, effects_of};
use crate::samples::{Format, SampleSet};
use crate::{CompareError, Sample, Settings};
use stats::{Clip, Decision, Design, Interval, Session, SplitMix, robust};

/// Consecutive runs are condensed into so many medians, so that autocorrelation inside them does not narrow the
/// interval.
const BATCHES: usize = 40;
/// Bootstrap rounds.
const ROUNDS: usize = 999;
/// Drift inside a block from which on it is worth a warning.
const NOTABLE_DRIFT: f64 = 0.01;
/// Units are a thousand apart; changes seldom make such a difference.
const UNLIKELY_FACTOR: f64 = 200.0;

/// A against B from files.
///
/// # Errors
/// When the settings make no sense.
pub fn compare_samples(a: &SampleSet, b: &SampleSet, settings: &Settings) -> Result<Outcome, CompareError> {
    settings.check()?;
    if let (Some(of_a), Some(of_b)) = (&a.record, &b.record)
        && of_a == of_b
        && let Some(found) = of_a.comparisons.iter().find(|pair| pair.against == a.name && pair.arm == b.name)
    {
        return Ok(again(of_a, found, settings));
    }
    if let Some(bare) = [a, b].into_iter().find(|set| set.seconds.len() < 2) {
        let message = format!(
            "`{}` holds pairs and no samples of its own; give the one file with --samples, with both its arms by --name",
            bare.name
        );
        return Err(CompareError::Usage(message));
    }
    Ok(blocks(a, b, settings))
}

/// Judges recorded pairs under other settings.
fn again(record: &Outcome, pairs: &Comparison, settings: &Settings) -> Outcome {
    let clip = record.design.map_or_else(|| Clip::of_burn_in(&record.noise), |design| design.clip);
    let design = Design {
        n_opt: record.design.map_or(13.0, |design| design.n_opt),
        last_look: record.design.map_or(0.0, |design| design.last_look),
        ..Design::anytime(settings.alpha, settings.margin, clip, usize::MAX)
    };
    let mut session = Session::new(design);
    for unit in &pairs.units {
        session.push(unit.ln);
    }
    // A run that was answered early had no last look, and its last unit is no planned end.
    if pairs.p.is_some() {
        session.spend();
    }
    let summary = session.summary();
    let sound = record.discarded.is_none() && record.aborted.is_none();
    let verdict = if sound { summary.decision } else { Decision::Undecided };
    let interval = effects_of(summary.estimate.interval());
    let effect = effect_of(summary.estimate.value);
    let comparison =
        Comparison { verdict, effect, interval, e: summary.e.map(|e| e.min(f64::MAX)), p: summary.p, ..pairs.clone() };
    Outcome {
        verdict,
        effect,
        interval,
        pairs: summary.n,
        rule: "anytime".to_owned(),
        comparisons: vec![comparison],
        alpha: settings.alpha,
        margin: settings.margin,
        design: Some(design),
        notes: vec!["recorded pairs, judged again".to_owned()],
        ..record.clone()
    }
}

fn blocks(a: &SampleSet, b: &SampleSet, settings: &Settings) -> Outcome {
    let (batches_a, batches_b) = (condensed(a), condensed(b));
    let difference = robust::median(&batches_b) - robust::median(&batches_a);
    let interval = bootstrap(&batches_a, &batches_b, settings);
    let comparison = Comparison {
        arm: b.name.clone(),
        against: a.name.clone(),
        is_control: false,
        verdict: Decision::Undecided,
        effect: effect_of(difference),
        interval: effects_of(interval),
        e: None,
        p: None,
        accepted: None,
        units: Vec::new(),
    };
    let drifts = [a, b].map(|set| (set, drift_within(&set.seconds)));
    Outcome {
        effect: comparison.effect,
        interval: comparison.interval,
        resolvable: drifts.iter().map(|(_, drift)| drift.abs()).max_by(f64::total_cmp).and_then(effect_of),
        rule: "sequential".to_owned(),
        comparisons: vec![comparison],
        arms: vec![report(a), report(b)],
        unknowable: unknowable(a, b, interval),
        warnings: drifts
            .iter()
            .filter_map(|(set, drift)| drift_warning(set, *drift))
            .chain(unit_warning([a, b], difference))
            .collect(),
        ..Outcome::empty(settings)
    }
}

fn report(set: &SampleSet) -> ArmReport {
    ArmReport {
        name: set.name.clone(),
        median: Some(robust::median(&set.seconds)),
        user: None,
        system: None,
        peak_memory: None,
        samples: set.seconds.iter().map(|seconds| Sample::of_wall(*seconds)).collect(),
    }
}

fn unknowable(a: &SampleSet, b: &SampleSet, interval: Interval) -> Vec<String> {
    let mut found = vec![
        format!(
            "the runs of `{}` and `{}` were not interleaved, so a drift of the machine between the two blocks looks \
             exactly like a difference; no verdict can be given. Run both with `rooflab compare -- 'A' -- 'B'`",
            a.name, b.name
        ),
        "the interval covers what happened inside the two blocks, not what happened between them".to_owned(),
    ];
    if interval.holds(0.0) {
        found.push("even taken at face value, the two blocks do not differ beyond their own spread".to_owned());
    }
    if [a, b].iter().any(|set| set.processes.as_ref().is_none_or(|processes| processes.len() < 2)) {
        found.push("the runs of a block may share a process, whose layout stays with all of them".to_owned());
    }
    found
}

fn drift_warning(set: &SampleSet, drift: f64) -> Option<Warning> {
    (drift.abs() > NOTABLE_DRIFT).then(|| {
        Warning::new(
            format!("`{}` drifted by {:+.1} % from its first half to its second", set.name, 100.0 * drift.exp_m1()),
            "differences of that size between the blocks mean nothing; measure again, interleaved",
        )
    })
}

/// Where people wrote the unit, they may have written another one.
fn unit_warning(sets: [&SampleSet; 2], difference: f64) -> Option<Warning> {
    let written = |set: &&SampleSet| matches!(set.format, Format::Csv | Format::JsonRows);
    (difference.abs() > UNLIKELY_FACTOR.ln() && sets.iter().any(written)).then(|| {
        let factor = difference.abs().exp();
        let what = format!("`{}` and `{}` differ by a factor of {factor:.0}", sets[0].name, sets[1].name);
        Warning::new(what, "see that both are in the unit that they are read in; --unit is for both")
    })
}

/// ln(median of the second half / median of the first).
fn drift_within(seconds: &[f64]) -> f64 {
    let (first, second) = seconds.split_at(seconds.len() / 2);
    (robust::median(second) / robust::median(first)).ln()
}

/// ln of the medians of consecutive stretches: processes where they are known, else equal parts.
fn condensed(set: &SampleSet) -> Vec<f64> {
    let known = set.processes.as_ref().filter(|processes| processes.len() >= 2);
    let mut rest = set.seconds.as_slice();
    let stretches: Vec<&[f64]> = match known {
        Some(lengths) => lengths
            .iter()
            .filter(|length| **length > 0)
            .map(|length| {
                let (stretch, after) = rest.split_at(*length);
                rest = after;
                stretch
            })
            .collect(),
        None => rest.chunks(rest.len().div_ceil(BATCHES)).collect(),
    };
    stretches.into_iter().map(|stretch| robust::median(stretch).ln()).collect()
}

fn bootstrap(a: &[f64], b: &[f64], settings: &Settings) -> Interval {
    let mut random = SplitMix::new(settings.seed);
    let mut drawn = |values: &[f64]| -> f64 {
        let again: Vec<f64> = values.iter().map(|_| values[random.below(values.len())]).collect();
        robust::median(&again)
    };
    let differences: Vec<f64> = (0..ROUNDS).map(|_| drawn(b) - drawn(a)).collect();
    Interval {
        low: robust::quantile(&differences, settings.alpha / 2.0),
        high: robust::quantile(&differences, 1.0 - settings.alpha / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Unit;
    use stats::normal_quantile;

    fn set(name: &str, median: f64, drift: f64) -> SampleSet {
        let mut random = SplitMix::new(median.to_bits());
        let n = 400;
        let seconds = (0..n)
            .map(|i| {
                median * (0.01 * normal_quantile(random.unit().max(1e-9)) + drift * f64::from(i) / f64::from(n)).exp()
            })
            .collect();
        SampleSet {
            name: name.into(),
            format: Format::Csv,
            seconds,
            processes: None,
            record: None,
            label: None,
            labels: None,
        }
    }

    #[test]
    fn a_clear_difference_between_blocks_is_still_no_verdict() {
        let outcome = compare_samples(&set("a", 0.01, 0.0), &set("b", 0.02, 0.0), &Settings::default()).unwrap();
        assert_eq!((outcome.verdict, outcome.gate_exit_code()), (Decision::Undecided, 3));
        assert!((outcome.effect.unwrap() - 1.0).abs() < 0.02 && outcome.interval[0].unwrap() > 0.9);
        assert!(outcome.unknowable[0].contains("not interleaved") && outcome.warnings.is_empty());
    }

    #[test]
    fn drift_inside_a_block_bounds_what_can_be_seen() {
        let outcome = compare_samples(&set("a", 0.01, 0.1), &set("b", 0.0101, 0.0), &Settings::default()).unwrap();
        assert!(outcome.warnings[0].what.contains("`a` drifted by"), "{:?}", outcome.warnings);
        assert!(outcome.resolvable.unwrap() > 0.03);
    }

    #[test]
    fn a_factor_of_a_thousand_is_asked_about() {
        let warned = |b: f64| {
            let outcome = compare_samples(&set("a", 0.01, 0.0), &set("b", b, 0.0), &Settings::default()).unwrap();
            outcome.warnings.iter().any(|warning| warning.what.contains("differ by a factor of"))
        };
        assert!(warned(10.0) && warned(1e-5) && !warned(0.1));
    }

    #[test]
    fn processes_are_the_stretches_where_they_are_known() {
        let known = SampleSet { processes: Some(vec![100, 0, 300]), ..set("a", 0.01, 0.0) };
        assert_eq!(condensed(&known).len(), 2);
        assert_eq!(condensed(&set("a", 0.01, 0.0)).len(), BATCHES);
    }

    #[test]
    fn our_own_pairs_are_judged_again() {
        let units = (0..60).map(|i| Unit { at: f64::from(i), ln: 0.02 + 0.001 * f64::from(i % 7 - 3) }).collect();
        let comparison = Comparison {
            arm: "b".into(),
            against: "a".into(),
            is_control: false,
            verdict: Decision::Undecided,
            effect: None,
            interval: [None, None],
            e: None,
            p: None,
            accepted: None,
            units,
        };
        let noise: Vec<f64> = (0..20).map(|i| 0.001 * f64::from(i % 7 - 3)).collect();
        let record = Outcome { comparisons: vec![comparison], noise, ..Outcome::empty(&Settings::default()) };
        let own =
            |name: &str, record: &Outcome| SampleSet { record: Some(Box::new(record.clone())), ..set(name, 0.01, 0.0) };
        let judged = |record: &Outcome, margin: f64| {
            let settings = Settings { margin, ..Settings::default() };
            compare_samples(&own("a", record), &own("b", record), &settings).unwrap()
        };
        assert_eq!(judged(&record, 0.005).verdict, Decision::Worse);
        assert_eq!(judged(&record, 0.05).verdict, Decision::Equivalent);
        let bare = |name: &str| SampleSet { seconds: Vec::new(), ..own(name, &record) };
        let settings = Settings::default();
        assert_eq!(compare_samples(&bare("a"), &bare("b"), &settings).unwrap().verdict, Decision::Worse);
        let message = compare_samples(&bare("a"), &set("c", 0.01, 0.0), &settings).unwrap_err().to_string();
        assert!(message.contains("`a` holds pairs and no samples"), "{message}");
        let void = Outcome { discarded: Some("drift".into()), ..record };
        assert_eq!(judged(&void, 0.005).verdict, Decision::Undecided);
    }
}
