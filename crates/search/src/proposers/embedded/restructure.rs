//! A whole candidate by a recipe, from the start of the lineage: small early gains would otherwise bar the way to what
//! only pays on the untouched source.

use super::edits;
use super::genome::{self, Step};
use super::syntax::Code;
use super::{Turn, of_code, proposal};
use crate::archive::Candidate;
use model::Proposal;
use rand::RngExt;

/// A kind of edit in the recipe.
struct Stage {
    kind: &'static str,
    /// How often it is taken.
    chance: f64,
    /// Targets at most.
    most: usize,
}

/// What reuses data comes first, then what that leaves to dominate. Attention at 128 rows: 32 ms naive, 0.8 ms by such a
/// chain; without the polynomial, or without the maximum as a select, 1.4 ms.
const RECIPE: &[Stage] = &[
    Stage { kind: "row-block", chance: 0.9, most: 1 },
    Stage { kind: "register-tile", chance: 0.95, most: 4 },
    Stage { kind: "fast-exp", chance: 0.9, most: 1 },
    Stage { kind: "select", chance: 0.9, most: 2 },
    Stage { kind: "fuse", chance: 0.2, most: 1 },
    Stage { kind: "accumulators", chance: 0.4, most: 2 },
    Stage { kind: "unroll-and-jam", chance: 0.2, most: 1 },
    Stage { kind: "reciprocal", chance: 0.4, most: 1 },
    Stage { kind: "stream", chance: 0.2, most: 1 },
    Stage { kind: "flag", chance: 0.5, most: 1 },
];
/// How often a stage repeats what the parent has of it.
const INHERITED: f64 = 0.25;

impl Turn<'_, '_> {
    /// The recipe from the start of the parent's lineage, then the parent's steps of other kinds as far as they apply.
    pub fn restructure(&mut self, parent: &Candidate) -> Option<Proposal> {
        let (root, steps) = genome::genome(self.context.campaign, parent.id)?;
        let mut code = self.parse(&self.context.campaign.archive.get(root)?.proposal.source)?;
        let mut done = Vec::new();
        for stage in RECIPE {
            code = self.stage(code, stage, &steps, &mut done)?;
        }
        for step in steps.iter().filter(|step| RECIPE.iter().all(|stage| stage.kind != step.kind)) {
            code = self.replay(code, step, &mut done)?;
        }
        (!done.is_empty()).then(|| proposal(parent, of_code(&code), "restructure", &done))
    }

    fn stage(&mut self, code: Code, stage: &Stage, parents: &[Step], done: &mut Vec<Step>) -> Option<Code> {
        if !self.rng.random_bool(stage.chance) {
            return Some(code);
        }
        let own: Vec<&Step> = parents.iter().filter(|step| step.kind == stage.kind).collect();
        if !own.is_empty() && self.rng.random_bool(INHERITED) {
            return own.into_iter().try_fold(code, |code, step| self.replay(code, step, done));
        }
        Some(match stage.kind {
            // Each flag is a target of its own: the first would always be the same.
            "flag" => match self.pick_of(&code, stage.kind) {
                Some((step, next)) => {
                    done.push(step);
                    next
                }
                None => code,
            },
            kind => self.follow_up(code, edits::edit(kind)?, stage.most, done),
        })
    }

    /// Any one offer of a kind.
    fn pick_of(&mut self, code: &Code, kind: &str) -> Option<(Step, Code)> {
        let offer = super::pick(edits::edit(kind)?.all(code), self.rng)?;
        Some((Step::of(kind, &offer), self.parse(&super::source(&offer))?))
    }
}
