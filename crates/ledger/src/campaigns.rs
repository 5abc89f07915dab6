//! Campaigns as the ledger holds them: events in, events out, and what is still unfinished.
//!
//! Must not do: fold events into a state. That is the search's reducer.

use crate::{Draft, EntryId, Error, Ledger, blobs, entry};
use jiff::Timestamp;
use model::{Digest, Event};
use rusqlite::params;
use serde::Serialize;

/// One campaign at a glance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CampaignSummary {
    /// Its id.
    pub id: String,
    /// The problem's name.
    pub problem: String,
    /// Digest of the problem's folder, in hexadecimal digits.
    pub problem_digest: String,
    /// When it began.
    pub started: Timestamp,
    /// When its last entry was appended.
    pub last: Timestamp,
    /// Candidates proposed, baselines included.
    pub proposed: u32,
    /// Judgements of candidates.
    pub judged: u32,
    /// Candidates that became the champion.
    pub promoted: u32,
    /// Whether a certificate was written.
    pub verified: bool,
    /// Whether it is complete.
    pub finished: bool,
    /// Whether the sandbox was off.
    pub unconfined: bool,
}

/// A new campaign's id: `attention-prefill-20261130-1642-3f9a`. Ids of one problem sort by time (UTC, to the minute);
/// `salt` tells apart those of one minute.
pub fn campaign_id(problem: &str, at: Timestamp, salt: u64) -> String {
    let digest = Digest::of(format!("{problem}\0{at}\0{salt}")).to_string();
    format!("{problem}-{}-{}", at.strftime("%Y%m%d-%H%M"), &digest[..4])
}

impl Ledger {
    /// Appends an event of a campaign. `started` comes first, and once.
    ///
    /// # Errors
    /// The campaign exists already (for `started`) or does not (for the others), or the store fails.
    pub fn append_event(&mut self, at: Timestamp, campaign: &str, event: &Event) -> Result<EntryId, Error> {
        let body = serde_json::to_value(event)?;
        let kind = format!("event.{}", body["event"].as_str().unwrap_or_default());
        let starts = matches!(event, Event::Started { .. });
        self.write(|transaction| {
            let fresh = entry::count_in(transaction, Some(campaign))? == 0;
            let wrong = |why| Err(Error::Campaign { campaign: campaign.to_owned(), why });
            match (starts, fresh) {
                (true, false) => return wrong("has begun already: take another id"),
                (false, true) => return wrong("has not begun: its first event is `started`"),
                _ => {}
            }
            let draft = Draft { campaign: Some(campaign), ..Draft::new(at, &kind) };
            entry::insert(transaction, &draft, body)
        })
    }

    /// The events of a campaign in their order; empty for an unknown one.
    ///
    /// # Errors
    /// An entry does not read back.
    pub fn campaign_events(&self, campaign: &str) -> Result<Vec<Event>, Error> {
        Ok(self.timed_events(campaign)?.into_iter().map(|(_, event)| event).collect())
    }

    /// The events of a campaign with their times.
    ///
    /// # Errors
    /// An entry does not read back.
    pub fn timed_events(&self, campaign: &str) -> Result<Vec<(Timestamp, Event)>, Error> {
        let sql = "SELECT id, at, body FROM entries WHERE campaign = ?1 AND kind GLOB 'event.*' ORDER BY n";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map(params![campaign], |row| {
            Ok((row.get::<_, String>(0)?, entry::timestamp(row, 1)?, row.get::<_, String>(2)?))
        })?;
        rows.map(|row| {
            let (id, at, body) = row?;
            let body = blobs::restore(&self.connection, entry::parse(&id, &body)?)?;
            let event = serde_json::from_value(body).map_err(|source| Error::Unreadable {
                id,
                expected: "an event",
                source,
            })?;
            Ok((at, event))
        })
        .collect()
    }

    /// Every campaign, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub fn campaigns(&self) -> Result<Vec<CampaignSummary>, Error> {
        let sql = "
            WITH counts AS (
                SELECT campaign, max(at) AS last,
                       sum(kind = 'event.proposed') AS proposed, sum(kind = 'event.judged') AS judged,
                       sum(kind = 'event.promoted') AS promoted, sum(kind = 'event.verified') > 0 AS verified,
                       sum(kind = 'event.finished') > 0 AS finished
                FROM entries WHERE campaign IS NOT NULL GROUP BY campaign
            )
            SELECT start.campaign, body ->> '$.spec.problem', body ->> '$.spec.problem_digest', at, last,
                   proposed, judged, promoted, verified, finished, body ->> '$.spec.unconfined'
            FROM entries AS start JOIN counts USING (campaign)
            WHERE kind = 'event.started' ORDER BY seq";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            Ok(CampaignSummary {
                id: row.get(0)?,
                problem: row.get(1)?,
                problem_digest: row.get(2)?,
                started: entry::timestamp(row, 3)?,
                last: entry::timestamp(row, 4)?,
                proposed: row.get(5)?,
                judged: row.get(6)?,
                promoted: row.get(7)?,
                verified: row.get(8)?,
                finished: row.get(9)?,
                unconfined: row.get(10)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The newest campaign of this problem that is not complete: what `--resume` goes on with.
    ///
    /// # Errors
    /// The store fails.
    pub fn unfinished(&self, problem: &Digest) -> Result<Option<String>, Error> {
        let sql = "
            SELECT campaign FROM entries AS start
            WHERE kind = 'event.started' AND body ->> '$.spec.problem_digest' = ?1
              AND NOT EXISTS (SELECT 1 FROM entries WHERE campaign = start.campaign AND kind = 'event.finished')
            ORDER BY seq DESC LIMIT 1";
        entry::one(&self.connection, sql, &problem.to_string())
    }
}
