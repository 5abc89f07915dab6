//! Who breeds. Noise-aware: an estimate is never taken for a rank that its interval does not support.
//!
//! The rule: the champion most of the time. Else one of the candidates that the judge did not find worse than the
//! present champion (better, equivalent, undecided, not promoted), by a tournament of two on the lower end of the
//! interval: neutral drift. Else a former champion or the best of another set of edits, for diversity. Candidates that
//! failed, cheated or are worse never breed.

use crate::archive::{Candidate, Standing};
use crate::campaign::Campaign;
use model::Verdict;
use rand::{Rng, RngExt};
use std::collections::BTreeMap;

/// Share of proposals that start from the champion.
const CHAMPION: f64 = 0.75;
/// Share that drift among those not worse than it; what is left is for diversity.
const DRIFT: f64 = 0.15;

/// Diverse, but not hopeless: ln of the factor by which a parent may be slower than the champion.
const FAR: f64 = std::f64::consts::LN_2;

/// Picks a parent.
pub fn parent<'a>(campaign: &'a Campaign, rng: &mut impl Rng) -> Option<&'a Candidate> {
    let champion = campaign.best()?;
    let draw = rng.random_range(0.0..1.0);
    let pool = if draw < CHAMPION {
        Vec::new()
    } else if draw < CHAMPION + DRIFT {
        not_worse(campaign)
    } else {
        diverse(campaign)
    };
    Some(tournament(&pool, rng).unwrap_or(champion))
}

/// Candidates judged against the present champion and not found worse.
pub fn not_worse(campaign: &Campaign) -> Vec<&Candidate> {
    let near = |c: &&Candidate| {
        c.against == Some(campaign.champion())
            && c.id != campaign.champion()
            && matches!(c.verdict(), Some(Verdict::Better | Verdict::Equivalent | Verdict::Undecided))
    };
    campaign.archive.iter().filter(near).collect()
}

/// Former champions, and for each set of edits in a lineage the best candidate that was measured and not worse than its
/// opponent.
pub fn diverse(campaign: &Campaign) -> Vec<&Candidate> {
    let mut best: BTreeMap<String, &Candidate> = BTreeMap::new();
    for candidate in campaign.archive.iter() {
        let bred = candidate.standing == Standing::Promoted
            || matches!(candidate.verdict(), Some(Verdict::Better | Verdict::Equivalent | Verdict::Undecided));
        let far = campaign.best().and_then(Candidate::search_ln).is_some_and(|best| optimistic(candidate) > best + FAR);
        if !bred || far || candidate.id == campaign.champion() {
            continue;
        }
        let place = best.entry(edits(campaign, candidate)).or_insert(candidate);
        if optimistic(candidate) < optimistic(place) {
            *place = candidate;
        }
    }
    best.into_values().collect()
}

/// The sorted set of edits along a lineage.
fn edits(campaign: &Campaign, candidate: &Candidate) -> String {
    let chain = campaign.archive.ancestors(candidate.id);
    let mut kinds: Vec<&str> =
        chain.iter().filter_map(|id| campaign.archive.get(*id)).map(|c| c.proposal.edit.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.join(" ")
}

/// ln against candidate 0 at the favourable end of the interval.
fn optimistic(candidate: &Candidate) -> f64 {
    let Some(mean) = candidate.search_ln() else { return 0.0 };
    let judgement = candidate.fresh.as_ref().or(candidate.judgement.as_ref());
    let widths: Vec<f64> = judgement
        .iter()
        .flat_map(|j| &j.shapes)
        .filter_map(|shape| shape.ln.map(|ln| ln.value - ln.interval.low))
        .collect();
    mean - widths.iter().sum::<f64>() / widths.len().max(1) as f64
}

fn tournament<'a>(pool: &[&'a Candidate], rng: &mut impl Rng) -> Option<&'a Candidate> {
    if pool.is_empty() {
        return None;
    }
    let (a, b) = (pool[rng.random_range(0..pool.len())], pool[rng.random_range(0..pool.len())]);
    Some(if optimistic(b) < optimistic(a) { b } else { a })
}
