//! The levels of the memory ladder, and the working sets that they are measured with. Pure.
//!
//! The levels come from the knees of the latency curve; the system's claims stand in where the curve has none.

use crate::facts::Facts;
use crate::knee::Joint;
use model::{CurvePoint, Interval, Knee};

/// A level and the working set that it is measured with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Level {
    pub(crate) name: &'static str,
    /// Bytes of all arrays together.
    pub(crate) working_set: usize,
    /// Where that size comes from.
    pub(crate) reason: String,
}

/// Sizes that the first levels have where neither the curve nor the system tells.
const TYPICAL: [usize; 2] = [32 << 10, 512 << 10];
/// The working set in memory is so many times the last knee.
const BEYOND: usize = 4;
/// Below this a working set in memory would prove nothing.
const SMALLEST_DRAM: usize = 64 << 20;

/// Chooses the working sets. What cannot be told apart goes to `missing`.
pub(crate) fn levels(joints: &[Joint], facts: &Facts, least_dram: usize, missing: &mut Vec<String>) -> Vec<Level> {
    let knees: Vec<usize> = joints.iter().map(|joint| joint.at as usize).collect();
    let claims = &facts.claims;
    let [l1, first] = capacity(&knees, claims.l1, 0, TYPICAL[0]);
    let [l2, second] = capacity(&knees, claims.l2, l1, TYPICAL[1]);
    let describe = |size: usize, source: usize| {
        let source = if source == 1 { "knee of the latency curve" } else { "size that the system claims, no knee" };
        format!("{source} at {} KiB", size >> 10)
    };
    // A knee beyond the claim is a late one, and half of it no longer inside the level.
    let [l1, l2] = [(l1, claims.l1), (l2, claims.l2)].map(|(size, claim)| claim.map_or(size, |claim| size.min(claim)));
    let mut levels = vec![
        Level { name: "L1", working_set: l1 / 2, reason: describe(l1, first) },
        Level { name: "L2", working_set: (l2 / 2).max(2 * l1), reason: describe(l2, second) },
    ];
    let beyond_second = 2 * l2.max(claims.l2.unwrap_or(0));
    let last = knees.iter().copied().rfind(|&knee| knee >= beyond_second);
    let inside = knees.iter().copied().find(|&knee| knee >= beyond_second);
    // Just beyond the second level: a knee further out may be the reach of a TLB, and the system's claim the share of
    // others. In a cycle of twice what a level holds, hardly an access still hits it.
    let size = beyond_second * 3 / 2;
    match inside {
        Some(knee) => levels.push(Level { name: "LLC", working_set: size.min(knee), reason: describe(knee, 1) }),
        None if claims.last.is_some_and(|claim| claim >= 4 * beyond_second) => {
            let reason = "three times the second level: the curve has no knee beyond it".to_owned();
            levels.push(Level { name: "LLC", working_set: size, reason });
        }
        None => {
            missing.push("LLC: neither the latency curve nor the system shows a level beyond the second".to_owned());
        }
    }
    let beyond = BEYOND * last.unwrap_or(0);
    let memory = beyond.max(least_dram).min(facts.memory.unwrap_or(least_dram * 2) / 2);
    if memory >= SMALLEST_DRAM.min(least_dram).max(2 * last.unwrap_or(0)) {
        let reason =
            format!("{BEYOND} times the last knee, at least {} MiB, at most half of the free memory", least_dram >> 20);
        levels.push(Level { name: "DRAM", working_set: memory, reason });
    } else {
        missing.push(format!("DRAM: only {} MiB could be taken", memory >> 20));
    }
    levels
}

/// Capacity of a level beyond `below`, and 1 if it is a knee: the knee nearest to the claim if within a factor of two,
/// without a claim the first one. A knee far off the claim is something else, such as the reach of a TLB.
fn capacity(knees: &[usize], claim: Option<usize>, below: usize, typical: usize) -> [usize; 2] {
    let off = |knee: usize| claim.map_or(0.0, |claim| (knee as f64 / claim as f64).ln().abs());
    let nearest = knees.iter().copied().filter(|&knee| knee > 2 * below).min_by(|&a, &b| off(a).total_cmp(&off(b)));
    match nearest {
        Some(knee) if off(knee) <= 2_f64.ln() => [knee, 1],
        _ => [claim.unwrap_or(typical).max(4 * below), 0],
    }
}

/// A claim is contradicted when it is farther than this from the interval.
const CLAIM_TOLERANCE: f64 = 0.1;

/// The knees of a curve as the map keeps them, each beside the claim that it is nearest to.
pub(crate) fn named(curve: &str, joints: &[Joint], claims: &[(&str, Option<usize>)]) -> Vec<Knee> {
    let mut knees: Vec<Knee> = joints
        .iter()
        .map(|joint| Knee { curve: curve.to_owned(), at: joint.at, interval: joint.interval, ..Knee::default() })
        .collect();
    for (level, claim) in claims.iter().filter_map(|(level, claim)| Some((*level, (*claim)? as f64))) {
        let off = |knee: &Knee| (knee.at / claim).ln().abs();
        let free = knees.iter_mut().filter(|knee| knee.level.is_empty() && off(knee) <= 2_f64.ln());
        if let Some(knee) = free.min_by(|a, b| off(a).total_cmp(&off(b))) {
            level.clone_into(&mut knee.level);
            knee.claim = Some(claim);
            let Interval { low, high } = knee.interval;
            if claim < low * (1.0 - CLAIM_TOLERANCE) || claim > high * (1.0 + CLAIM_TOLERANCE) {
                let percent = 100.0 * (knee.at / claim - 1.0);
                knee.disagreement = Some(format!("the knee is {percent:+.0} % off what the system claims"));
            }
        }
    }
    knees
}

/// The claims that no knee answers, in words, and what the curve says instead: a VM shows caches that its cores never get.
pub(crate) fn unanswered(knees: &[Knee], claims: &[(&str, Option<usize>)], curve: &[CurvePoint]) -> Vec<String> {
    let known = claims.iter().filter_map(|(level, claim)| Some((*level, (*claim)?)));
    let silent = known.filter(|(level, _)| knees.iter().all(|knee| knee.level != *level));
    silent
        .map(|(level, claim)| {
            format!(
                "capacity of {level}: the system claims {} KiB, and no knee lies within a factor of two{}",
                claim >> 10,
                instead(curve, claim as f64)
            )
        })
        .collect()
}

/// What is as slow as memory: within this share of the curve's end.
const LIKE_MEMORY: f64 = 0.85;

/// Why a curve has no knee near a claim.
fn instead(curve: &[CurvePoint], claim: f64) -> String {
    let Some(end) = curve.last() else { return String::new() };
    if claim > end.x {
        return format!("; the curve ends at {:.0} KiB, before it could show one", end.x / 1024.0);
    }
    let like_memory = curve.iter().rev().take_while(|point| point.y >= LIKE_MEMORY * end.y).last().unwrap_or(end);
    if like_memory.x < claim / 2.0 {
        return format!(
            "; from {:.0} KiB on a load takes as long as at {:.0} KiB, so this core gets no more of the level than that",
            like_memory.x / 1024.0,
            end.x / 1024.0
        );
    }
    "; latency rises there without a plateau: the level is shared, or its lines are spread by a hash".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knee::joints;
    use crate::system::Claims;

    fn curve(steps: &[(f64, f64)]) -> Vec<CurvePoint> {
        (0..65)
            .map(|i| 4096.0 * 2_f64.powf(f64::from(i) / 4.0))
            .map(|x| {
                let y = steps.iter().find(|(end, _)| x <= *end).map_or(0.0, |step| step.1);
                CurvePoint { x, y: y * 1e-9, ..CurvePoint::default() }
            })
            .collect()
    }

    fn sets(curve: &[CurvePoint], claims: Claims) -> (Vec<(&'static str, usize)>, Vec<String>) {
        let mut missing = Vec::new();
        let facts = Facts { claims, memory: Some(8 << 30), ..Facts::bare() };
        let levels = levels(&joints(curve), &facts, 512 << 20, &mut missing);
        (levels.iter().map(|level| (level.name, level.working_set >> 10)).collect(), missing)
    }

    const KIB: f64 = 1024.0;

    #[test]
    fn the_knee_beats_the_claim() {
        let ladder = [(48.0 * KIB, 2.0), (2048.0 * KIB, 5.0), (32768.0 * KIB, 30.0), (f64::INFINITY, 110.0)];
        // The system claims 300 MiB of last level, which the curve does not confirm.
        let claims = Claims { l1: Some(48 << 10), l2: Some(2 << 20), last: Some(300 << 20) };
        let (sets, missing) = sets(&curve(&ladder), claims);
        assert_eq!(sets[0].0, "L1");
        assert!((20..=26).contains(&sets[0].1), "{sets:?}");
        assert_eq!((sets[1].0, sets[2].0), ("L2", "LLC"));
        assert!((900..=1200).contains(&sets[1].1) && (5500..=7000).contains(&sets[2].1), "{sets:?}");
        assert_eq!(sets[3].0, "DRAM");
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn claims_stand_in_for_a_flat_curve() {
        let claims = Claims { l1: Some(64 << 10), l2: Some(1 << 20), last: Some(64 << 20) };
        let (sets, _) = sets(&curve(&[(f64::INFINITY, 3.0)]), claims);
        assert_eq!(sets[..3], [("L1", 32), ("L2", 512), ("LLC", 3072)]);
    }

    #[test]
    fn a_level_that_nobody_shows_is_missing() {
        let (sets, missing) =
            sets(&curve(&[(32.0 * KIB, 1.0), (512.0 * KIB, 4.0), (f64::INFINITY, 90.0)]), Claims::default());
        assert!(sets.iter().all(|set| set.0 != "LLC"), "{sets:?}");
        assert!(missing[0].starts_with("LLC"), "{missing:?}");
    }

    #[test]
    fn little_memory_has_no_dram() {
        let mut missing = Vec::new();
        let facts = Facts { memory: Some(32 << 20), ..Facts::bare() };
        let levels = levels(&[], &facts, 512 << 20, &mut missing);
        assert!(levels.iter().all(|level| level.name != "DRAM"), "{levels:?}");
        assert!(missing.iter().any(|line| line.starts_with("DRAM: only 16 MiB")), "{missing:?}");
    }

    #[test]
    fn knees_meet_claims_and_contradict_them() {
        let joint = |at: f64| Joint { at, interval: Interval { low: at * 0.95, high: at * 1.05 } };
        let claims = [("L1", Some(48 << 10)), ("L2", Some(2 << 20)), ("LLC", Some(300 << 20))];
        let knees = named("latency.huge", &[joint(49_000.0), joint(1.4e6), joint(30e6)], &claims);
        let levels: Vec<&str> = knees.iter().map(|knee| knee.level.as_str()).collect();
        assert_eq!(levels, ["L1", "L2", ""]);
        assert_eq!(knees[0].disagreement, None);
        assert!(knees[1].disagreement.as_ref().is_some_and(|text| text.contains("-33 %")), "{knees:?}");
        let silent = |claim: usize| {
            let steps = curve(&[(8192.0 * KIB, 30.0), (f64::INFINITY, 110.0)]);
            unanswered(&knees, &[("LLC", Some(claim))], &steps).join("; ")
        };
        let shared = silent(100 << 20);
        assert!(shared.contains("LLC") && shared.contains("gets no more of the level than that"), "{shared}");
        assert!(silent(300 << 20).contains("the curve ends"));
        let no_curve = unanswered(&knees, &claims, &[]);
        assert!(no_curve.len() == 1 && no_curve[0].ends_with("factor of two"), "{no_curve:?}");
    }
}
