//! Finds things in the ledger by the names that people give them, and turns its errors into exit codes.
//!
//! Must not write events: the driver does.

use crate::driver::Journal;
use crate::outcome::Failure;
use crate::plan::Place;
use jiff::Timestamp;
use ledger::{CampaignSummary, Ledger};
use model::{Digest, Event};
use search::{Campaign, Candidate};

impl From<ledger::Error> for Failure {
    fn from(error: ledger::Error) -> Self {
        use ledger::Error as E;
        let report = miette::miette!("{error}");
        match error {
            E::Missing { .. } | E::NotFound(_) | E::NotAnId(_) | E::Ambiguous { .. } | E::Import { .. } => {
                Self::Usage(report)
            }
            _ => Self::Environment(report),
        }
    }
}

/// Opens the ledger to write to it.
///
/// # Errors
/// When it can't be made or read.
pub fn open(place: &Place) -> Result<Ledger, Failure> {
    Ok(Ledger::open(&place.ledger)?)
}

/// Opens a ledger that must be there.
///
/// # Errors
/// When it is not.
pub fn open_existing(place: &Place) -> Result<Ledger, Failure> {
    Ok(Ledger::open_existing(&place.ledger)?)
}

/// The campaign named: an id, the start of one, or `last`.
///
/// # Errors
/// Lists what there is.
pub fn campaign(ledger: &Ledger, name: &str) -> Result<CampaignSummary, Failure> {
    let campaigns = ledger.campaigns()?;
    if let Some(found) = matching(&campaigns, name) {
        return Ok(found.clone());
    }
    let ids: Vec<&str> = campaigns.iter().rev().take(5).map(|campaign| campaign.id.as_str()).collect();
    let known = if ids.is_empty() { "it holds none yet: `rooflab run` makes one".into() } else { ids.join(", ") };
    let what = format!("no campaign `{name}` in {}", ledger.path().display());
    Err(Failure::usage(what, format!("the newest are: {known}")))
}

fn matching<'a>(campaigns: &'a [CampaignSummary], name: &str) -> Option<&'a CampaignSummary> {
    if name == "last" {
        return campaigns.last();
    }
    let mut begins = campaigns.iter().filter(|campaign| campaign.id.starts_with(name) && !name.is_empty());
    let exact = campaigns.iter().find(|campaign| campaign.id == name);
    exact.or_else(|| begins.next().filter(|_| begins.next().is_none()))
}

/// A candidate in the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its campaign.
    pub campaign: String,
    /// The problem's name.
    pub problem: String,
    /// Digest of the problem's folder.
    pub problem_digest: Digest,
    /// The candidate, and what became of it.
    pub candidate: Candidate,
}

/// The newest candidate whose source digest begins with `prefix`, six digits or more.
///
/// # Errors
/// When an entry does not read back.
pub fn candidate(ledger: &Ledger, prefix: &str) -> Result<Option<Found>, Failure> {
    if prefix.len() < 6 || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    for summary in ledger.campaigns()?.iter().rev() {
        let campaign = Campaign::fold(&ledger.campaign_events(&summary.id)?);
        let is_it = |candidate: &&Candidate| candidate.proposal.source.digest().to_string().starts_with(prefix);
        if let Some(candidate) = campaign.archive.iter().find(is_it) {
            return found(&summary.id, &campaign, candidate).map(Some);
        }
    }
    Ok(None)
}

/// The winner of a campaign: its champion, when that is not a baseline.
///
/// # Errors
/// When nothing was promoted, or an entry does not read back.
pub fn winner(ledger: &Ledger, id: &str) -> Result<Found, Failure> {
    let campaign = Campaign::fold(&ledger.campaign_events(id)?);
    match campaign.best().filter(|best| best.proposal.proposer != "baseline") {
        Some(best) => found(id, &campaign, best),
        None => Err(Failure::usage(
            format!("campaign {id} has no winner: nothing beat its starting point"),
            format!("`rooflab ledger show {id}` lists what it tried"),
        )),
    }
}

fn found(id: &str, campaign: &Campaign, candidate: &Candidate) -> Result<Found, Failure> {
    let spec = campaign.spec.as_ref().ok_or_else(|| headless(id))?;
    Ok(Found {
        campaign: id.to_owned(),
        problem: spec.problem.clone(),
        problem_digest: spec.problem_digest,
        candidate: candidate.clone(),
    })
}

/// A campaign that does not begin as every campaign does.
pub fn headless(campaign: &str) -> Failure {
    let what = format!("campaign {campaign} does not begin with its specification");
    Failure::environment(what, "`rooflab ledger check` says what else is damaged")
}

/// One campaign's entries in a ledger.
pub struct CampaignJournal<'a> {
    /// The ledger.
    pub ledger: &'a mut Ledger,
    /// The campaign's id.
    pub campaign: String,
    /// Digest of the problem's folder.
    pub problem: Digest,
}

impl Journal for CampaignJournal<'_> {
    fn append(&mut self, event: &Event) -> Result<(), Failure> {
        self.ledger.append_event(Timestamp::now(), &self.campaign, event)?;
        Ok(())
    }

    fn look(&mut self) -> Result<u32, Failure> {
        let with_this = self.ledger.count_look(Timestamp::now(), Some(&self.campaign), &self.problem)?;
        Ok(with_this - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn ledger() -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path().join("l.db")).unwrap();
        for id in ["norm-1", "norm-2"] {
            let mut journal = CampaignJournal { ledger: &mut ledger, campaign: id.into(), problem: Digest::of("p") };
            for event in sample::campaign() {
                journal.append(&event).unwrap();
            }
        }
        (folder, ledger)
    }

    #[test]
    fn campaigns_by_name() {
        let (_folder, ledger) = ledger();
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(campaign(&ledger, name).ok().map(|campaign| campaign.id).as_deref(), expected, "{name}");
        };
        check("norm-1", Some("norm-1"));
        check("last", Some("norm-2"));
        check("norm", None);
        check("", None);
        check("other", None);
    }

    #[test]
    fn candidates_by_digest() {
        let (_folder, ledger) = ledger();
        let digest = sample::source("int winner;").digest().to_string();
        let found = candidate(&ledger, &digest[..8]).unwrap().unwrap();
        assert_eq!((found.campaign.as_str(), found.candidate.id.0), ("norm-2", 2));
        assert_eq!(candidate(&ledger, &digest[..4]).unwrap(), None);
        assert_eq!(winner(&ledger, "norm-1").unwrap().candidate.id.0, 2);
    }

    #[test]
    fn looks_are_counted_before_they_happen() {
        let (_folder, mut ledger) = ledger();
        let problem = Digest::of("p");
        let mut journal = CampaignJournal { ledger: &mut ledger, campaign: "norm-1".into(), problem };
        assert_eq!((journal.look().unwrap(), journal.look().unwrap()), (0, 1));
        assert_eq!(ledger.held_out_looks(&problem).unwrap(), 2);
    }
}
