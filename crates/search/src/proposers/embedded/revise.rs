//! The parent's steps again with one changed; most often to a neighbouring size.

use super::edits::{self, Offer};
use super::genome::{self, Step};
use super::syntax::Code;
use super::{Turn, of_code, proposal, source};
use crate::archive::Candidate;
use model::Proposal;
use rand::RngExt;

/// What is done at one place in a list of steps.
const CHANGES: &[(Change, f64)] = &[(Change::Otherwise, 0.65), (Change::Insert, 0.25), (Change::LeaveOut, 0.1)];

#[derive(Clone, Copy, PartialEq)]
enum Change {
    Otherwise,
    Insert,
    LeaveOut,
}

impl Turn<'_, '_> {
    /// The parent's steps with one change. The steps after it that have no place any more are left out.
    pub fn revise(&mut self, parent: &Candidate) -> Option<Proposal> {
        let (root, steps) = genome::genome(self.context.campaign, parent.id)?;
        if steps.is_empty() {
            return None;
        }
        let mut code = self.parse(&self.context.campaign.archive.get(root)?.proposal.source)?;
        let change = self.change();
        let end = steps.len() + usize::from(change == Change::Insert);
        let at = self.rng.random_range(0..end);
        let mut done = Vec::new();
        for step in &steps[..at] {
            code = self.replay(code, step, &mut done)?;
        }
        let (step, after) = match change {
            Change::LeaveOut => (None, at + 1),
            Change::Otherwise => (Some(self.neighbour(&code, &steps[at])?), at + 1),
            Change::Insert => {
                let (edit, offer) = self.step(&code)?;
                (Some((Step::of(edit.kind, &offer), offer)), at)
            }
        };
        if let Some((step, offer)) = step {
            done.push(step);
            code = self.parse(&source(&offer))?;
        }
        for step in &steps[after..] {
            code = self.replay(code, step, &mut done)?;
        }
        Some(proposal(parent, of_code(&code), "revise", &done))
    }

    fn change(&mut self) -> Change {
        let mut left = self.rng.random_range(0.0..1.0);
        for (change, chance) in CHANGES {
            if left < *chance {
                return *change;
            }
            left -= chance;
        }
        Change::Otherwise
    }

    /// The same on the same target in other sizes; the nearest are the likeliest.
    fn neighbour(&mut self, code: &Code, step: &Step) -> Option<(Step, Offer)> {
        let other = |offer: &Offer| genome::target(&offer.what) == step.target() && offer.what != step.what;
        let mut offers: Vec<Offer> = edits::edit(&step.kind)?.all(code).into_iter().filter(other).collect();
        offers.sort_by(|a, b| distance(&a.what, &step.what).total_cmp(&distance(&b.what, &step.what)));
        let offer = super::pick(offers, self.rng)?;
        Some((Step::of(&step.kind, &offer), offer))
    }
}

/// Doublings between the numbers of two phrases, and one more where the words differ.
fn distance(one: &str, other: &str) -> f64 {
    let numbers = |text: &str| -> Vec<f64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
    };
    let words = |text: &str| -> String { text.chars().filter(|c| !c.is_ascii_digit()).collect() };
    let (a, b) = (numbers(one), numbers(other));
    let doublings: f64 = a.iter().zip(&b).map(|(a, b)| (a.max(1.0) / b.max(1.0)).log2().abs()).sum();
    let apart = words(one) != words(other);
    doublings + if apart { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_near() {
        let check = |near: &str, far: &str| {
            let from = "s 8j x 16ir";
            assert!(distance(from, near) < distance(from, far), "{near} before {far}");
        };
        check("s 8j x 32ir", "s 4j x 64ir");
        check("s 6j x 16ir", "s 4j x 16ir");
        check("s 16j x 32ir", "s 1ir x 16j");
    }
}
