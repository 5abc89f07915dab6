//! What lies in a ledger: maps, events, judgements, certificates, and the export that is taken in elsewhere. Whatever
//! comes, it is read or refused; what was read is written and read again unchanged; a refused import leaves nothing.

use ledger::{Filter, Ledger};
use model::{Certificate, Event, Judgement, Map};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::RefCell;

thread_local! {
    static LEDGER: RefCell<Option<(tempfile::TempDir, Ledger)>> = const { RefCell::new(None) };
}

/// One input.
pub fn run(data: &[u8]) {
    again::<Map>(data);
    again::<Event>(data);
    again::<Judgement>(data);
    again::<Certificate>(data);
    LEDGER.with_borrow_mut(|kept| {
        let (_, ledger) = kept.get_or_insert_with(|| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let ledger = Ledger::open(folder.path().join("ledger.db")).expect("an empty ledger");
            (folder, ledger)
        });
        let entries = |ledger: &Ledger| ledger.list(&Filter::default()).expect("our own ledger").len();
        let before = entries(ledger);
        match ledger.import(&mut &*data) {
            Ok(imported) => {
                assert_eq!(entries(ledger), before + imported.entries as usize);
                let mut out = Vec::new();
                ledger.export(&mut out).expect("what was taken in can be given out");
                // Not to grow without end, and not to make one input's verdict hang on another's.
                *kept = None;
            }
            Err(_) => assert_eq!(entries(ledger), before, "a refused import has left something"),
        }
    });
}

fn again<T: Serialize + DeserializeOwned>(data: &[u8]) {
    if let Ok(value) = serde_json::from_slice::<T>(data) {
        let written = serde_json::to_string(&value).expect("plain data");
        let read: T = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
        assert_eq!(serde_json::to_string(&read).expect("as before"), written);
    }
}
