//! `rooflab run --show-prompt` and `--dry-run`: what would be asked, and what it would cost. Asks nobody, measures
//! nothing, writes nothing.

use super::{earlier, specification};
use crate::actions::macros;
use crate::ceilings::Bounds;
use crate::machine;
use crate::outcome::{Done, Failure, Outcome};
use crate::plan::{RunPlan, Start};
use crate::proposers::{self, Purpose, RECKONED};
use ledger::Ledger;
use model::Event;
use problems::Problem;
use propose::Prompt;
use propose::budget::{Estimate, Spent};
use search::{Campaign, Context};
use std::fmt::Write;

/// Prints it.
///
/// # Errors
/// When the ledger doesn't read back or a template can't be used.
pub fn run(plan: &RunPlan, problem: &Problem) -> Outcome {
    let ledger = Ledger::open_existing(&plan.place.ledger).ok();
    let (events, others) = known(plan, problem, ledger.as_ref())?;
    let map = machine::stored(&plan.place);
    let bounds = map.as_ref().map(|map| Bounds::new(problem, map));
    let scene = proposers::scene(problem, map.as_ref().zip(bounds.as_ref()), &others);
    let campaign = Campaign::fold(&events);
    let seed = campaign.spec.as_ref().map_or(0, |spec| spec.seed);
    let constants = macros(problem);
    let context = Context { campaign: &campaign, hints: &problem.hints, constants: &constants };
    let (prompt, code) = plan.proposers.prompt(&scene, &context, seed)?;
    if plan.proposers.purpose == Purpose::ShowPrompt {
        print!("{}", prompt.to_text());
        return Ok(Done::Complete);
    }
    let limit = campaign.spec.as_ref().and_then(|spec| spec.max_candidates);
    let proposals = limit.unwrap_or(RECKONED);
    print!("{}", table(&prompt, proposals, &plan.proposers.estimates(&prompt, code, proposals)));
    Ok(Done::Complete)
}

/// The campaign as it stands, or as it would begin; and the earlier ones of this problem.
fn known(plan: &RunPlan, problem: &Problem, ledger: Option<&Ledger>) -> Result<(Vec<Event>, Vec<Vec<Event>>), Failure> {
    let (seed, limits) = match &plan.start {
        Start::Fresh { seed, limits, .. } => (*seed, *limits),
        Start::Resume => {
            let unfinished = ledger.map(|ledger| ledger.unfinished(&problem.digest)).transpose()?.flatten();
            if let (Some(ledger), Some(id)) = (ledger, unfinished) {
                return Ok((ledger.campaign_events(&id)?, earlier(ledger, problem, &id)?));
            }
            return Err(Failure::usage("there is no campaign to go on with", "leave out --resume"));
        }
    };
    let spec = specification(problem, seed, limits.candidates);
    let others = ledger.map_or_else(|| Ok(Vec::new()), |ledger| earlier(ledger, problem, ""))?;
    Ok((vec![Event::Started { spec }], others))
}

fn table(prompt: &Prompt, proposals: u32, estimates: &[(String, Estimate)]) -> String {
    let mut text = format!("{proposals} proposals, a first prompt of {} bytes\n", prompt.bytes());
    if estimates.is_empty() {
        text.push_str("the embedded proposer asks nobody and costs nothing\n");
    }
    for (name, Estimate { likely, worst }) in estimates {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{name}\n  likely    {}\n  at worst  {}", words(likely), words(worst));
    }
    text
}

fn words(spent: &Spent) -> String {
    format!("{} in money, {} tokens, {} calls", spent.money, spent.tokens, spent.calls)
}
