//! Chances of kinds of edit and of moves: their prior, times how often the judge found their like better.

use super::{edits, genome};
use crate::campaign::Campaign;
use model::Verdict;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// Candidates that count: what paid at the start of a campaign says little about its end.
const MEMORY: usize = 150;
/// Weight of the prior, in tries; at the prior one in four wins.
const PRIOR: f64 = 4.0;

/// Counts by kind.
pub struct Bandit(BTreeMap<String, (f64, f64)>);

impl Bandit {
    /// What the campaign's last candidates teach. A chain's or revision's verdict counts for each of its kinds, in equal
    /// shares.
    pub fn of(campaign: &Campaign) -> Self {
        let mut counts: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        let judged = campaign.archive.iter().rev().filter(|c| c.judgement.is_some() && c.proposal.edit != "baseline");
        for candidate in judged.take(MEMORY) {
            let won = f64::from(u8::from(candidate.judgement.as_ref().is_some_and(|j| j.verdict == Verdict::Better)));
            let own = genome::own_steps(&candidate.proposal);
            let name = candidate.proposal.edit.as_str();
            let move_name = if edits::edit(name).is_some() { "edit" } else { name };
            let mut count = |kind: &str, share: f64| {
                let entry = counts.entry(kind.to_owned()).or_default();
                entry.0 += won * share;
                entry.1 += share;
            };
            count(move_name, 1.0);
            // The other moves repeat their parent's steps: those are not what was tried.
            if ["edit", "chain"].contains(&move_name) {
                for step in &own {
                    count(&step.kind, 1.0 / own.len() as f64);
                }
            }
        }
        Self(counts)
    }

    /// The chance of a kind, not normalised.
    pub fn weight(&self, kind: &str, prior: f64) -> f64 {
        let (wins, tries) = self.0.get(kind).copied().unwrap_or_default();
        prior * PRIOR * (wins + 1.0) / (tries + PRIOR)
    }

    /// One of the kinds, by chance.
    pub fn choose<'a>(&self, kinds: &[(&'a str, f64)], rng: &mut ChaCha8Rng) -> &'a str {
        let weights: Vec<f64> = kinds.iter().map(|(kind, prior)| self.weight(kind, *prior)).collect();
        let mut left = rng.random_range(0.0..weights.iter().sum());
        for ((kind, _), weight) in kinds.iter().zip(&weights) {
            if left < *weight {
                return kind;
            }
            left -= weight;
        }
        kinds[kinds.len() - 1].0
    }
}
