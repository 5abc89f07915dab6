//! The embedded proposer: edits a C source's syntax tree. Needs no network and no model.
//!
//! Five moves: one edit; a chain of edits that only pay together; a restructuring (from the start of the lineage, by a
//! recipe: what changes the order of work, then what pays on top of it); a revision (the same steps again with one
//! inserted, left out or made otherwise); a crossover. A campaign opens with restructurings and goes on with revisions.
//! Chances follow what the verdicts so far say (`bandit`).
//! Everything is a function of the seed and the campaign: nothing is remembered outside of them.

mod affine;
mod bandit;
mod crossover;
pub mod edits;
pub(crate) mod genome;
mod reduction;
mod restructure;
mod revise;
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

pub use edits::OFFERED_FLAGS;
pub use syntax::Code;

/// Name in the ledger.
const NAME: &str = "embedded";
/// Draws for one proposal before the proposer says that it has nothing left.
const PATIENCE: usize = 200;
/// Sites that the follow-up of a chain is applied to, at most.
const FOLLOW_UPS: usize = 4;
/// Candidates at the start of a campaign that are drawn wide, whatever the champion.
const OPENING: u32 = 10;
/// A champion of fewer steps than this is still the plain source for the choice of moves.
const FEW: usize = 3;
/// The moves and their chances at the start. At 45 ms a call of the naive source one edit of it costs seconds to judge
/// and stays undecided; a whole chain is twenty times as fast and decided at once.
const OPENING_MOVES: &[(&str, f64)] = &[("restructure", 20.0), ("revise", 2.0), ("chain", 1.0), ("edit", 0.5)];
/// The same once there is something to refine.
const MOVES: &[(&str, f64)] =
    &[("revise", 8.0), ("edit", 3.0), ("restructure", 2.0), ("chain", 1.5), ("crossover", 1.5)];

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
        let moves = if self.is_opening() { OPENING_MOVES } else { MOVES };
        match self.bandit.choose(moves, self.rng) {
            "chain" => self.chain(parent),
            "restructure" => self.restructure(parent),
            "revise" => self.revise(parent),
            "crossover" => self.cross(parent),
            _ => self.single(parent),
        }
    }

    fn is_opening(&self) -> bool {
        let campaign = self.context.campaign;
        let steps = genome::genome(campaign, campaign.champion()).map_or(0, |(_, steps)| steps.len());
        campaign.archive.next_id().0 <= OPENING || steps < FEW
    }

    fn parse(&self, source: &Source) -> Option<Code> {
        Code::parse(&source.text, &source.flags, self.context.constants)
    }

    /// A kind by its chances, and one of its offers; the ones listed first are the likelier.
    fn step(&mut self, code: &Code) -> Option<(&'static Edit, Offer)> {
        let chances: Vec<(&str, f64)> = EDITS.iter().map(|edit| (edit.kind, edit.weight)).collect();
        let edit = edits::edit(self.bandit.choose(&chances, self.rng))?;
        Some((edit, pick(edit.all(code), self.rng)?))
    }

    fn single(&mut self, parent: &Candidate) -> Option<Proposal> {
        let code = self.parse(&parent.proposal.source)?;
        let (edit, offer) = self.step(&code)?;
        if edit.follow.is_some() {
            return self.chain_from(parent, edit, &offer);
        }
        Some(proposal(parent, source(&offer), edit.kind, &[Step::of(edit.kind, &offer)]))
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
            code = self.follow_up(code, follow, FOLLOW_UPS, &mut steps);
        }
        let more = if steps.len() > 1 { 0 } else { self.rng.random_range(1..3) };
        for _ in 0..more {
            let Some((edit, offer)) = self.step(&code) else { continue };
            let Some(next) = self.parse(&source(&offer)) else { continue };
            steps.push(Step::of(edit.kind, &offer));
            code = next;
        }
        (steps.len() > 1).then(|| proposal(parent, of_code(&code), "chain", &steps))
    }

    /// One offer of an edit for each of its targets in turn.
    fn follow_up(&mut self, mut code: Code, follow: &Edit, most: usize, steps: &mut Vec<Step>) -> Code {
        let mut targets = BTreeSet::new();
        while targets.len() < most {
            let open = |offer: &Offer| !targets.contains(genome::target(&offer.what));
            let offers: Vec<Offer> = follow.all(&code).into_iter().filter(open).collect();
            let Some(site) = offers.first().map(|offer| genome::target(&offer.what).to_owned()) else { break };
            let here = offers.into_iter().filter(|offer| genome::target(&offer.what) == site).collect();
            let Some(offer) = pick(here, self.rng) else { break };
            let Some(next) = self.parse(&source(&offer)) else { break };
            targets.insert(site);
            steps.push(Step::of(follow.kind, &offer));
            code = next;
        }
        code
    }

    /// One step again; left out when nothing like it applies any more.
    fn replay(&mut self, code: Code, step: &Step, done: &mut Vec<Step>) -> Option<Code> {
        let Some(offer) = genome::find(&code, step, self.rng) else { return Some(code) };
        done.push(Step::of(&step.kind, &offer));
        self.parse(&source(&offer))
    }
}

fn source(offer: &Offer) -> Source {
    Source { flags: offer.flags.clone(), ..Source::c(offer.text.clone()) }
}

pub(crate) fn of_code(code: &Code) -> Source {
    Source { flags: code.flags.clone(), ..Source::c(code.text.clone()) }
}

fn proposal(parent: &Candidate, source: Source, edit: &str, steps: &[Step]) -> Proposal {
    let note = genome::note(steps);
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
