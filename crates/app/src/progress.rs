//! Where a campaign stands, as people and programs are told after each event: counts and the best so far.
//!
//! Must not choose: the best is the champion of the campaign's own state.

use crate::phases::START_STOCK;
use report::Yield;
use search::Campaign;
use serde::Serialize;

/// The counts and the best so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Progress {
    /// Attempted / invalid / cheated / noise / loss / win.
    pub outcomes: Yield,
    /// The champion, once it is not a baseline.
    pub best: Option<Best>,
}

/// The champion at a glance. The figures are estimates along a chain of comparisons, not results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Its number.
    pub id: u32,
    /// What was done last, in its proposer's words.
    pub note: String,
    /// Speed-up over the search's starting point.
    pub over_start: f64,
    /// Speed-up over the stock baseline, where the starting point was compared with that.
    pub over_stock: Option<f64>,
}

impl Progress {
    /// Of a campaign's state.
    pub fn of(campaign: &Campaign) -> Self {
        let tally = campaign.tally();
        let outcomes = Yield {
            attempted: tally.attempted,
            invalid: tally.invalid,
            cheated: tally.cheated,
            noise: tally.noise,
            loss: tally.loss,
            win: tally.win,
            skipped: tally.skipped,
        };
        Self { outcomes, best: best(campaign) }
    }

    /// `#12: 1.83x the starting point, 0.71x stock`.
    pub fn words(&self) -> String {
        let Some(best) = &self.best else { return "nothing better yet".to_owned() };
        let stock = best.over_stock.map_or(String::new(), |gain| format!(", {gain:.2}x stock"));
        format!("#{}: {:.2}x the starting point{stock}", best.id, best.over_start)
    }
}

fn best(campaign: &Campaign) -> Option<Best> {
    let best = campaign.best().filter(|best| best.proposal.proposer != "baseline")?;
    let stock = campaign.comparisons.get(START_STOCK);
    let over_stock = stock.and_then(|judgement| {
        let logs: Vec<f64> =
            best.ln.iter().filter_map(|(workload, ln)| Some(ln + judgement.ln(workload)?.value)).collect();
        (!logs.is_empty()).then(|| (-logs.iter().sum::<f64>() / logs.len() as f64).exp())
    });
    Some(Best {
        id: best.id.0,
        note: best.proposal.note.clone(),
        over_start: best.speedup().unwrap_or(1.0),
        over_stock,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn words() {
        let check = |n: usize, expected: &str| {
            let events = sample::campaign();
            assert_eq!(Progress::of(&Campaign::fold(&events[..n])).words(), expected);
        };
        check(6, "nothing better yet");
        check(9, "#2: 1.65x the starting point, 0.61x stock");
    }
}
