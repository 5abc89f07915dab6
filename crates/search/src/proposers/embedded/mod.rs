//! The embedded proposer: edits a C source's syntax tree. Needs no network and no model.
//!
//! Five moves: one edit; a chain of edits that only pay together; a restructuring (from the start of the lineage: an edit
//! that others build on, those others, then the lineage's own steps as far as they still apply); a revision (the same
//! steps again with one inserted, left out or made otherwise); a crossover. Chances follow what the verdicts so far say (`bandit`).
//! Everything is a function of the seed and the campaign: nothing is remembered outside of them.

mod affine;
mod bandit;
mod crossover;
pub mod edits;
mod genome;
mod reduction;
mod rewrite;
mod syntax;

use crate::archive::Candidate;
use crate::proposers::{Context, Proposer};
use crate::selection;
use bandit::Bandit;
use edits::{EDITS, Edit, Offer};
use genome::Step;
use model::{Digest, Proposal, Source};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;

pub use edits::FLAG_ALLOW_LIST;
pub use syntax::Code;

/// Name in the ledger.
const NAME: &str = "embedded";
/// Draws for one proposal before the proposer says that it has nothing left.
const PATIENCE: usize = 200;
/// Sites that the follow-up of a chain is applied to, at most.
const FOLLOW_UPS: usize = 4;
/// The moves and their chances before anything is known.
const MOVES: &[(&str, f64)] =
    &[("edit", 5.0), ("chain", 3.0), ("restructure", 4.0), ("revise", 1.5), ("crossover", 0.5)];

/// The proposer. Its seed is the campaign's.
pub struct Embedded {
    seed: u64,
}

impl Embedded {
    /// A proposer whose choices follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The choices of the `counter`-th proposal of a campaign.
    fn draw(&self, counter: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(counter);
        rng
    }
}

impl Proposer for Embedded {
    fn propose(&mut self, context: &Context<'_>, n: usize) -> Vec<Proposal> {
        let bandit = Bandit::of(context.campaign);
        let mut taken = BTreeSet::new();
        let mut found = Vec::new();
        let next = u64::from(context.campaign.archive.next_id().0);
        for counter in next..next + n as u64 {
            let mut rng = self.draw(counter);
            let fresh = |source: &Source, taken: &BTreeSet<Digest>| {
                !context.campaign.archive.has(source) && !taken.contains(&identity(source))
            };
            let proposal = (0..PATIENCE).find_map(|_| {
                let mut turn = Turn { context, bandit: &bandit, rng: &mut rng };
                turn.try_one().filter(|proposal| fresh(&proposal.source, &taken))
            });
            let Some(proposal) = proposal else { break };
            taken.insert(identity(&proposal.source));
            found.push(proposal);
        }
        found
    }
}

/// Identity up to comments, layout and the order of flags. Sources that don't parse are told apart by their text.
pub fn identity(source: &Source) -> Digest {
    let code = Code::parse(&source.text, &source.flags, &std::collections::BTreeMap::new());
    code.map_or_else(|| source.digest(), |code| Digest::of(rewrite::normalised(&code)))
}

/// One attempt at a proposal.
struct Turn<'a, 'c> {
    context: &'a Context<'c>,
    bandit: &'a Bandit,
    rng: &'a mut ChaCha8Rng,
}

impl Turn<'_, '_> {
    fn try_one(&mut self) -> Option<Proposal> {
        let parent = selection::parent(self.context.campaign, self.rng)?;
        match self.bandit.choose(MOVES, self.rng) {
            "chain" => self.chain(parent),
            "restructure" => self.restructure(parent),
            "revise" => self.revise(parent),
            "crossover" => crossover::cross(self.context, parent, self.rng),
            _ => self.single(parent),
        }
    }

    fn parse(&self, source: &Source) -> Option<Code> {
        Code::parse(&source.text, &source.flags, self.context.constants)
    }

    /// A kind by its chances, and one of its offers; the ones listed first are the likelier.
    fn step(&mut self, code: &Code) -> Option<(&'static Edit, Offer)> {
        let chances: Vec<(&str, f64)> = EDITS.iter().map(|edit| (edit.kind, edit.weight)).collect();
        let edit = edits::edit(self.bandit.choose(&chances, self.rng))?;
        Some((edit, pick((edit.offers)(code), self.rng)?))
    }

    fn single(&mut self, parent: &Candidate) -> Option<Proposal> {
        let code = self.parse(&parent.proposal.source)?;
        let (edit, offer) = self.step(&code)?;
        if edit.follow.is_some() {
            return self.chain_from(parent, edit, &offer);
        }
        Some(proposal(parent, source(&offer), edit.kind, offer.note()))
    }

    fn chain(&mut self, parent: &Candidate) -> Option<Proposal> {
        let code = self.parse(&parent.proposal.source)?;
        let (first, offer) = self.step(&code)?;
        self.chain_from(parent, first, &offer)
    }

    /// Edits that go together: after the first one its follow-up wherever it applies, else one or two others.
    fn chain_from(&mut self, parent: &Candidate, first: &Edit, offer: &Offer) -> Option<Proposal> {
        let mut steps = vec![Step::of(first.kind, offer)];
        let mut code = self.parse(&source(offer))?;
        if let Some(follow) = first.follow.and_then(edits::edit) {
            code = self.follow_up(code, follow, &mut steps);
        }
        let more = if steps.len() > 1 { 0 } else { self.rng.random_range(1..3) };
        for _ in 0..more {
            let Some((edit, offer)) = self.step(&code) else { continue };
            let Some(next) = self.parse(&source(&offer)) else { continue };
            steps.push(Step::of(edit.kind, &offer));
            code = next;
        }
        (steps.len() > 1).then(|| proposal(parent, of_code(&code), "chain", genome::note(None, &steps)))
    }

    /// One offer of an edit for each of its targets in turn.
    fn follow_up(&mut self, mut code: Code, follow: &Edit, steps: &mut Vec<Step>) -> Code {
        let mut targets = BTreeSet::new();
        while targets.len() < FOLLOW_UPS {
            let open = |offer: &Offer| !targets.contains(target(&offer.what));
            let offers: Vec<Offer> = (follow.offers)(&code).into_iter().filter(open).collect();
            let Some(site) = offers.first().map(|offer| target(&offer.what).to_owned()) else { break };
            let here = offers.into_iter().filter(|offer| target(&offer.what) == site).collect();
            let Some(offer) = pick(here, self.rng) else { break };
            let Some(next) = self.parse(&source(&offer)) else { break };
            targets.insert(site);
            steps.push(Step::of(follow.kind, &offer));
            code = next;
        }
        code
    }

    /// The lineage again on another ground. Small early gains would otherwise bar the way to what only pays on the
    /// untouched source.
    fn restructure(&mut self, parent: &Candidate) -> Option<Proposal> {
        let (root, steps) = genome::genome(self.context.campaign, parent.id)?;
        let ground: Vec<(&str, f64)> =
            EDITS.iter().filter(|edit| edit.follow.is_some()).map(|edit| (edit.kind, edit.weight)).collect();
        let edit = edits::edit(self.bandit.choose(&ground, self.rng))?;
        let follow = edit.follow.and_then(edits::edit)?;
        let start = self.parse(&self.context.campaign.archive.get(root)?.proposal.source)?;
        let offer = pick((edit.offers)(&start), self.rng)?;
        let mut done = vec![Step::of(edit.kind, &offer)];
        let mut code = self.parse(&source(&offer))?;
        code = self.follow_up(code, follow, &mut done);
        for step in steps.iter().filter(|step| step.kind != edit.kind && step.kind != follow.kind) {
            code = self.replay(code, step, &mut done)?;
        }
        Some(proposal(parent, of_code(&code), "restructure", genome::note(Some(root), &done)))
    }

    /// The parent's steps again with one changed.
    fn revise(&mut self, parent: &Candidate) -> Option<Proposal> {
        let (root, mut steps) = genome::genome(self.context.campaign, parent.id)?;
        if steps.is_empty() {
            return None;
        }
        let start = self.context.campaign.archive.get(root)?;
        let at = self.rng.random_range(0..=steps.len());
        let mut done = Vec::new();
        let mut code = self.parse(&start.proposal.source)?;
        let change = self.rng.random_range(0..3);
        let later = steps.split_off(at.min(steps.len() - usize::from(change != 0)));
        for step in &steps {
            code = self.replay(code, step, &mut done)?;
        }
        let mut later = later.as_slice();
        match (change, later.split_first()) {
            (1, Some((_, rest))) => later = rest,
            (2, Some((step, rest))) => {
                later = rest;
                let edit = edits::edit(&step.kind)?;
                let same: Vec<Offer> =
                    (edit.offers)(&code).into_iter().filter(|o| target(&o.what) == target(&step.what)).collect();
                let offer = pick(same, self.rng)?;
                done.push(Step::of(edit.kind, &offer));
                code = self.parse(&source(&offer))?;
            }
            _ => {
                let (edit, offer) = self.step(&code)?;
                done.push(Step::of(edit.kind, &offer));
                code = self.parse(&source(&offer))?;
            }
        }
        for step in later {
            code = self.replay(code, step, &mut done)?;
        }
        Some(proposal(parent, of_code(&code), "revise", genome::note(Some(root), &done)))
    }

    /// One step again; left out when nothing like it applies any more.
    fn replay(&mut self, code: Code, step: &Step, done: &mut Vec<Step>) -> Option<Code> {
        let Some(offer) = genome::find(&code, step, self.rng) else { return Some(code) };
        done.push(Step::of(&step.kind, &offer));
        self.parse(&source(&offer))
    }
}

/// What an edit works on: the words before the colon, or all of them.
fn target(what: &str) -> &str {
    what.split(':').next().unwrap_or(what)
}

fn source(offer: &Offer) -> Source {
    Source { flags: offer.flags.clone(), ..Source::c(offer.text.clone()) }
}

fn of_code(code: &Code) -> Source {
    Source { flags: code.flags.clone(), ..Source::c(code.text.clone()) }
}

fn proposal(parent: &Candidate, source: Source, edit: &str, note: String) -> Proposal {
    Proposal { source, parents: vec![parent.id], proposer: NAME.to_owned(), note, edit: edit.to_owned() }
}

/// One of the offers; the smaller of two draws, because edits list what they think of most first.
fn pick(mut offers: Vec<Offer>, rng: &mut ChaCha8Rng) -> Option<Offer> {
    if offers.is_empty() {
        return None;
    }
    let at = rng.random_range(0..offers.len()).min(rng.random_range(0..offers.len()));
    Some(offers.swap_remove(at))
}
