//! A campaign's folder: report.html, certificate.json, the winner's source.
//!
//! Must not measure: it is written from the ledger alone, and can be written again.

use crate::outcome::Failure;
use crate::view::{self, Record};
use crate::{machine, store};
use ledger::Ledger;
use model::{Event, Map};
use problems::Problem;
use report::CampaignView;
use std::path::{Path, PathBuf};

/// Where a campaign's files go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// The campaign's folder in the output folder.
    pub fn new(out: &Path, campaign: &str) -> Self {
        Self(out.join(campaign))
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        std::fs::create_dir_all(&self.0).map_err(|error| Failure::file(&self.0, &error))?;
        let path = self.0.join(name);
        std::fs::write(&path, text).map_err(|error| Failure::file(&path, &error))?;
        Ok(path)
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The page.
    pub report: PathBuf,
    /// What it was made from.
    pub view: CampaignView,
}

/// Reads a campaign's view from the ledger.
///
/// # Errors
/// When its entries do not read back.
pub fn read(ledger: &Ledger, campaign: &str, problem: Option<&Problem>) -> Result<CampaignView, Failure> {
    let events = ledger.timed_events(campaign)?;
    let map = map_of(ledger, events.iter().map(|(_, event)| event))?;
    let raw =
        format!("Every entry is in {}: `rooflab ledger show {campaign} --json` prints them.", ledger.path().display());
    let record = Record { id: campaign, events: &events, problem, map: map.as_ref(), raw: &raw };
    view::view(&record).ok_or_else(|| store::headless(campaign))
}

/// Writes everything that the campaign's folder holds.
///
/// # Errors
/// When a file can't be written, or the ledger does not read back.
pub fn write(ledger: &Ledger, campaign: &str, folder: &Folder, problem: Option<&Problem>) -> Result<Written, Failure> {
    let view = read(ledger, campaign, problem)?;
    if let Some(certificate) = &view.certificate {
        folder.write("certificate.json", &json(certificate)?)?;
    }
    if let Some(winner) = &view.winner {
        folder.write(&format!("winner.{}", winner.source.language.extension()), &winner.source.text)?;
        // With its flags, for `rooflab judge` and `rooflab verify`.
        folder.write("winner.json", &json(&winner.source)?)?;
    }
    let report = folder.write("report.html", &report::html(&view))?;
    Ok(Written { report, view })
}

/// The map of the machine that judged: the certificate names it; without one it is this machine.
fn map_of<'a>(ledger: &Ledger, events: impl Iterator<Item = &'a Event>) -> Result<Option<Map>, Failure> {
    let certified = events.filter_map(|event| match event {
        Event::Verified { certificate, .. } => Some(&certificate.machine),
        _ => None,
    });
    match certified.last() {
        Some(fingerprint) => Ok(ledger.latest_map(fingerprint)?),
        None => machine::known(ledger),
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Failure::environment(error, "this is a fault of rooflab: please report it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Journal;
    use crate::sample;
    use crate::store::CampaignJournal;
    use model::Digest;

    #[test]
    fn a_campaigns_folder() {
        let out = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(out.path().join("l.db")).unwrap();
        let mut journal = CampaignJournal { ledger: &mut ledger, campaign: "norm-1".into(), problem: Digest::of("p") };
        for event in sample::campaign() {
            journal.append(&event).unwrap();
        }
        let written = write(&ledger, "norm-1", &Folder::new(out.path(), "norm-1"), None).unwrap();
        let read = |name: &str| std::fs::read_to_string(out.path().join("norm-1").join(name)).ok();
        assert_eq!(written.report, out.path().join("norm-1/report.html"));
        assert!(read("report.html").unwrap().contains("norm-1"));
        assert_eq!(read("winner.c").unwrap(), sample::source("int winner;").text);
        let source: model::Source = serde_json::from_str(&read("winner.json").unwrap()).unwrap();
        assert_eq!(source, sample::source("int winner;"));
        assert_eq!(read("certificate.json"), None);
    }
}
