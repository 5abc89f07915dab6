//! Two parents: one's text with the other's changes merged in, as far as they don't touch the same lines.

use super::{Context, NAME};
use crate::archive::Candidate;
use model::{CandidateId, Proposal, Source};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use similar::{MergeResolution, TextMerge};

/// A child of `parent` and another that may breed; none when they have nothing to exchange.
pub fn cross(context: &Context<'_>, parent: &Candidate, rng: &mut ChaCha8Rng) -> Option<Proposal> {
    let others = context.others();
    if others.is_empty() {
        return None;
    }
    let other = others[rng.random_range(0..others.len())];
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
    Some(Proposal {
        source,
        parents: vec![parent.id, other.id],
        proposer: NAME.to_owned(),
        note: format!("candidate {} with {changes} changes of candidate {}", parent.id.0, other.id.0),
        edit: "crossover".to_owned(),
    })
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
