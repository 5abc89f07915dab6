//! The machine's map: from the ledger while the fingerprint has not changed, else measured and kept.
//!
//! Must not judge, and must measure only before a judge is open: both want the whole machine.

use crate::notice::{Expected, Notice, Origin, Phase, Voice};
use crate::outcome::Failure;
use crate::plan::Place;
use jiff::Timestamp;
use ledger::Ledger;
use map::{Effort, MapError};
use model::Map;

impl From<MapError> for Failure {
    fn from(error: MapError) -> Self {
        Self::environment(error, "run it on a machine with a finer clock and some free memory")
    }
}

/// This machine's map in the ledger.
///
/// # Errors
/// When the ledger does not read back.
pub fn known(ledger: &Ledger) -> Result<Option<Map>, Failure> {
    Ok(ledger.latest_map(&map::fingerprint())?)
}

/// This machine's map where a ledger lies and holds one; no ledger is made.
pub fn stored(place: &Place) -> Option<Map> {
    Ledger::open_existing(&place.ledger).ok().and_then(|ledger| known(&ledger).ok().flatten())
}

/// This machine's map, measured and kept where need be.
///
/// # Errors
/// When nothing can be measured, or the ledger can't be written.
pub fn obtain(ledger: &mut Ledger, voice: &Voice, effort: impl Into<Effort>) -> Result<Map, Failure> {
    if let Some(map) = known(ledger)? {
        voice.say(&Notice::Machine { map: &map, origin: Origin::Stored });
        return Ok(map);
    }
    let effort = effort.into();
    voice.say(&Notice::Phase { phase: Phase::Map, expected: Some(Expected::About(effort.expected())) });
    let map = measure(ledger, effort, &mut |_| {})?;
    voice.say(&Notice::Machine { map: &map, origin: Origin::Measured });
    Ok(map)
}

/// Measures and keeps; `progress` hears what comes next.
///
/// # Errors
/// When nothing can be measured, or the ledger can't be written.
pub fn measure(ledger: &mut Ledger, effort: Effort, progress: &mut dyn FnMut(&str)) -> Result<Map, Failure> {
    let map = map::measure(effort, progress)?;
    ledger.put_map(Timestamp::now(), &map)?;
    Ok(map)
}
