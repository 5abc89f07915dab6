//! Files of timings: whatever they hold, reading them gives timings that can be compared or an error that names the
//! fix. The first byte picks the file's name, since some formats go by it.

use compare::samples::{Reading, TimeUnit, read};
use std::cell::RefCell;

thread_local! {
    static FOLDER: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) };
}

/// One input.
pub fn run(data: &[u8]) {
    let Some((first, content)) = data.split_first() else { return };
    let (name, unit) = match first % 4 {
        0 => ("a.json", None),
        1 => ("sample.json", None),
        2 => ("a.csv", Some(TimeUnit::Milli)),
        _ => ("a.csv", None),
    };
    FOLDER.with_borrow_mut(|kept| {
        let folder = kept.get_or_insert_with(|| tempfile::tempdir().expect("a temporary folder"));
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("our own folder");
        match read(&path, &Reading { unit, ..Reading::default() }) {
            Ok(sets) => {
                assert!(!sets.is_empty());
                for set in sets {
                    assert!(set.seconds.len() > 1, "{}", set.name);
                    assert!(set.seconds.iter().all(|x| x.is_finite() && *x > 0.0), "{}", set.name);
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
}
