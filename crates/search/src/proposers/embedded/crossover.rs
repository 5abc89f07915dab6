//! Two parents: each step from either of them. Sources without known steps: one's text with the other's changes merged
//! in, as far as they don't touch the same lines.

use super::genome::{self, Step};
use super::{Context, NAME, Turn, of_code};
use crate::archive::Candidate;
use model::{CandidateId, Proposal, Source};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use similar::{MergeResolution, TextMerge};

impl Turn<'_, '_> {
    /// A child of `parent` and another that may breed; none when they have nothing to exchange.
    pub fn cross(&mut self, parent: &Candidate) -> Option<Proposal> {
        let others = self.context.others();
        if others.is_empty() {
            return None;
        }
        let other = others[self.rng.random_range(0..others.len())];
        let (root, ours) = genome::genome(self.context.campaign, parent.id)?;
        let (ground, theirs) = genome::genome(self.context.campaign, other.id)?;
        if root != ground || ours.is_empty() || theirs.is_empty() {
            return texts(self.context, parent, other);
        }
        let mut code = self.parse(&self.context.campaign.archive.get(root)?.proposal.source)?;
        let mut done = Vec::new();
        for step in mixed(&ours, &theirs, self.rng) {
            code = self.replay(code, step, &mut done)?;
        }
        Some(child(parent, other, of_code(&code), genome::note(&done)))
    }
}

/// Ours, each as theirs has it as often as not; and every second one that only they have.
fn mixed<'s>(ours: &'s [Step], theirs: &'s [Step], rng: &mut ChaCha8Rng) -> Vec<&'s Step> {
    let like = |steps: &'s [Step], step: &Step| steps.iter().find(|other| other.is_like(step));
    let mut steps: Vec<&Step> =
        ours.iter().map(|step| like(theirs, step).filter(|_| rng.random_bool(0.5)).unwrap_or(step)).collect();
    steps.extend(theirs.iter().filter(|step| like(ours, step).is_none() && rng.random_bool(0.5)));
    steps
}

fn child(parent: &Candidate, other: &Candidate, source: Source, note: String) -> Proposal {
    let parents = vec![parent.id, other.id];
    Proposal { source, parents, proposer: NAME.to_owned(), note, edit: "crossover".to_owned() }
}

fn texts(context: &Context<'_>, parent: &Candidate, other: &Candidate) -> Option<Proposal> {
    let base = common_ancestor(context, parent.id, other.id)?;
    let base = &context.campaign.archive.get(base)?.proposal.source;
    let (ours, theirs) = (&parent.proposal.source, &other.proposal.source);
    let (text, changes) = merged(&base.text, &ours.text, &theirs.text);
    let mut source = Source { text, ..ours.clone() };
    for flag in theirs.flags.iter().filter(|flag| !base.flags.contains(flag)) {
        if !source.flags.contains(flag) {
            source.flags.push(flag.clone());
        }
    }
    let note = format!("candidate {} with {changes} changes of candidate {}", parent.id.0, other.id.0);
    Some(child(parent, other, source, note))
}

fn common_ancestor(context: &Context<'_>, one: CandidateId, other: CandidateId) -> Option<CandidateId> {
    let (mine, theirs) = (context.campaign.archive.ancestors(one), context.campaign.archive.ancestors(other));
    mine.iter().zip(&theirs).take_while(|(a, b)| a == b).last().map(|(id, _)| *id)
}

/// Ours with what theirs changed; ours where both did. And how many changes were taken over.
fn merged(base: &str, ours: &str, theirs: &str) -> (String, usize) {
    let merge = TextMerge::from_lines(base, ours, theirs);
    let mut text = String::new();
    let mut changes = 0;
    for region in merge.regions() {
        if region.resolution() == MergeResolution::Theirs {
            changes += 1;
            region.theirs_range().filter_map(|i| merge.theirs_line(i)).for_each(|line| text.push_str(line));
        } else {
            region.ours_range().filter_map(|i| merge.ours_line(i)).for_each(|line| text.push_str(line));
        }
    }
    (text, changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_both() {
        let check = |ours: &str, theirs: &str, expected: &str, taken: usize| {
            assert_eq!(merged("a\nb\nc\nd\ne\n", ours, theirs), (expected.to_owned(), taken));
        };
        check("A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n", 1);
        check("a\nb\nX\nd\ne\n", "a\nb\nY\nd\ne\n", "a\nb\nX\nd\ne\n", 0);
        check("a\nb\nc\nd\ne\n", "a\nb\nc\nd\ne\n", "a\nb\nc\nd\ne\n", 0);
    }
}
