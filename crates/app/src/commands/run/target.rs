//! `rooflab evolve --from-score`: which of several problems a campaign is worth most on, measured now.
//!
//! A step is one call of every shape of every problem, each by its fastest baseline. Must not guess: a problem whose
//! ceiling the map doesn't know can't be chosen, and is said to be left out.

use crate::ceilings::Bounds;
use crate::machine;
use crate::notice::{Notice, Voice};
use crate::outcome::Failure;
use crate::phases::{self, Subject};
use crate::plan::{self, Choice, RunPlan};
use crate::session::{self, Bench};
use crate::store;
use crate::text::percent;
use map::Depth;
use report::ScoreRow;
use score::{Ranked, Target, rank};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// One problem in the step.
#[derive(Clone, Debug, Default, PartialEq)]
struct Part {
    /// Seconds of its fastest baselines, all shapes.
    time: f64,
    /// Seconds that the ceilings allow for the same.
    floor: f64,
    /// Seconds by which the time is uncertain.
    doubt: f64,
}

/// A choice with its reason.
#[derive(Clone, Debug, PartialEq)]
struct Chosen {
    name: String,
    /// Whether it can pay more than the noise.
    is_worthwhile: bool,
    /// The table.
    why: String,
    /// The bound in one line.
    bound: String,
}

/// Scores every problem in the plan's folder; gives the folder of the one that pays most.
///
/// # Errors
/// When there is no problem, none with a ceiling, or the best can't pay more than the noise.
pub fn choose(plan: &RunPlan, voice: &Voice) -> Result<PathBuf, Failure> {
    let folders = plan::problems_in(&plan.folder);
    if folders.is_empty() {
        let what = format!("there are no problems in {}", plan.folder.display());
        return Err(Failure::usage(what, "name a folder that holds folders with a problem.toml"));
    }
    let mut ledger = store::open(&plan.place)?;
    let map = machine::obtain(&mut ledger, voice, Depth::Quick)?;
    let mut parts: BTreeMap<String, (PathBuf, Part)> = BTreeMap::new();
    for folder in folders {
        let problem = session::problem(&folder)?;
        voice.say(&Notice::Working { text: &format!("scoring {}", problem.name) });
        let bounds = Bounds::new(&problem, &map);
        let bench = Bench {
            folder: folder.clone(),
            confinement: plan.confinement,
            map: Some(map.clone()),
            voice: voice.clone(),
        };
        let (mut judge, _) = bench.open()?;
        let rows = phases::scores(&mut judge, &Subject { problem: &problem, bounds: &bounds })?;
        parts.insert(problem.name.clone(), (folder, part(&rows)));
    }
    let named: BTreeMap<String, Part> = parts.iter().map(|(name, (_, part))| (name.clone(), part.clone())).collect();
    let chosen = chosen(&named).ok_or_else(|| {
        Failure::environment("no problem has a ceiling on this machine", "`rooflab map` says what was not measured")
    })?;
    voice.say(&Notice::Chosen { why: &chosen.why });
    if !chosen.is_worthwhile && plan.choice != Choice::Anyway {
        return Err(Failure::usage(chosen.bound, "name a problem yourself, or go on with --anyway"));
    }
    Ok(parts.remove(&chosen.name).map(|(folder, _)| folder).unwrap_or_default())
}

/// The fastest arm of each workload.
fn part(rows: &[ScoreRow]) -> Part {
    let mut fastest: BTreeMap<&str, &ScoreRow> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.of_floor.is_some()) {
        let place = fastest.entry(&row.workload).or_insert(row);
        if row.time.0 < place.time.0 {
            *place = row;
        }
    }
    let mut part = Part::default();
    for row in fastest.values() {
        let Some(of_floor) = row.of_floor else { continue };
        part.time += row.time.0;
        part.floor += row.time.0 * of_floor.value.min(1.0);
        part.doubt += row.time.0 * (of_floor.interval.high / of_floor.interval.low).ln() / 2.0;
    }
    part
}

/// The problem with the largest payoff; none when none has one.
fn chosen(parts: &BTreeMap<String, Part>) -> Option<Chosen> {
    let step: f64 = parts.values().map(|part| part.time).sum();
    // Independent doubts: in squares.
    let noise = parts.values().map(|part| part.doubt.powi(2)).sum::<f64>().sqrt() / step;
    let target = |(name, part): (&String, &Part)| Target {
        name: name.clone(),
        share: part.time / step,
        fraction: (part.time > 0.0).then(|| part.floor / part.time),
    };
    let ranked = rank(parts.iter().map(target).collect());
    let mut why = format!("of a step of {} that calls every shape once, each by its fastest baseline\n", time(step));
    for Ranked { target, payoff } in &ranked {
        // Writing to a string can't fail.
        let _ = match (payoff, target.fraction) {
            (Some(payoff), Some(fraction)) => writeln!(
                why,
                "{:<24} {:>8} of the step, at {} of its ceiling: at most {payoff:.3}x",
                target.name,
                percent(target.share),
                percent(fraction)
            ),
            _ => writeln!(why, "{:<24} has no ceiling here: left out", target.name),
        };
    }
    let best = ranked.first()?;
    let (payoff, fraction) = (best.payoff?, best.target.fraction?);
    let name = best.target.name.clone();
    let _ = write!(why, "noise of the step {}: {name} is taken", percent(noise));
    let bound = format!(
        "{name} can't pay more than the noise: {} of the step at {} of its ceiling make the step at most {payoff:.4} \
         times as fast (Amdahl), and its noise is {}",
        percent(best.target.share),
        percent(fraction),
        percent(noise)
    );
    Some(Chosen { name, is_worthwhile: payoff.ln() > noise, why, bound })
}

fn time(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Estimate, Interval, Seconds};

    fn parts(all: &[(&str, f64, f64, f64)]) -> BTreeMap<String, Part> {
        let part = |(name, time, fraction, doubt): &(&str, f64, f64, f64)| {
            ((*name).to_owned(), Part { time: *time, floor: time * fraction, doubt: time * doubt })
        };
        all.iter().map(part).collect()
    }

    #[test]
    fn the_largest_payoff_is_taken_and_said_why() {
        let all = parts(&[("small", 2e-3, 0.2, 0.01), ("near", 4e-3, 0.9, 0.01), ("far", 4e-3, 0.4, 0.01)]);
        let chosen = chosen(&all).unwrap();
        assert!(chosen.is_worthwhile);
        let name = |name: &str| format!("{name:<24}");
        let expected = [
            "of a step of 10.000 ms that calls every shape once, each by its fastest baseline".to_owned(),
            name("far") + "     40 % of the step, at 40 % of its ceiling: at most 1.316x",
            name("small") + "     20 % of the step, at 20 % of its ceiling: at most 1.190x",
            name("near") + "     40 % of the step, at 90 % of its ceiling: at most 1.042x",
            "noise of the step 0.60 %: far is taken".to_owned(),
        ];
        assert_eq!(chosen.why.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_below_the_noise_is_not_worthwhile() {
        let check = |fraction: f64, doubt: f64, expected: bool| {
            let chosen = chosen(&parts(&[("a", 1e-3, fraction, doubt)])).unwrap();
            assert_eq!(chosen.is_worthwhile, expected, "{}", chosen.bound);
        };
        check(0.9, 0.05, true);
        check(0.9, 0.11, false);
        check(1.2, 0.0, false);
    }

    #[test]
    fn without_a_ceiling_there_is_no_choice() {
        assert_eq!(chosen(&parts(&[("a", 0.0, 0.0, 0.0)])), None);
        assert_eq!(chosen(&BTreeMap::new()), None);
    }

    #[test]
    fn a_problem_stands_by_its_fastest_baselines() {
        let row = |workload: &str, arm: &str, time: f64, of_floor: f64| ScoreRow {
            workload: workload.to_owned(),
            arm: arm.to_owned(),
            strength: arm.to_owned(),
            time: Seconds(time),
            floor: Seconds(time * of_floor),
            bound: String::new(),
            unit: String::new(),
            of_unit: None,
            of_floor: Some(Estimate { value: of_floor, interval: Interval { low: of_floor, high: of_floor } }),
        };
        let rows = [row("n=1", "naive", 4.0, 0.1), row("n=1", "stock", 1.0, 0.4), row("n=2", "naive", 2.0, 0.2)];
        let found = part(&rows);
        assert_eq!((found.time, found.doubt), (3.0, 0.0));
        assert!((found.floor - 0.8).abs() < 1e-12, "{found:?}");
    }
}
