//! Writers killed in mid-write: the ledger opens, is whole, and holds every entry that was acknowledged.

use jiff::Timestamp;
use ledger::{Draft, Ledger};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Set in the processes that only write.
const LEDGER: &str = "ROOFLAB_TEST_LEDGER";

/// Not a test by itself: what a writing process runs, until it is killed.
#[test]
fn writer() {
    let Ok(path) = std::env::var(LEDGER) else { return };
    let mut ledger = Ledger::open(path).unwrap();
    let campaign = std::process::id().to_string();
    for i in 0_usize.. {
        let draft = Draft { campaign: Some(&campaign), ..Draft::new(Timestamp::UNIX_EPOCH, "note") };
        // Bodies of many pages now and then, so that a kill falls inside a write.
        let text = format!("{i} ").repeat(1 + (i % 7) * 9000);
        let id = ledger.append(&draft, &json!({ "i": i, "text": text })).unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "acknowledged {id}").unwrap();
        out.flush().unwrap();
    }
}

fn spawn(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer", "--nocapture"])
        .env(LEDGER, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Ids that `child` acknowledges; it is killed `delay` after the `n`th of them.
fn acknowledged(child: &mut Child, n: usize, delay: Duration) -> Vec<String> {
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut ids = Vec::new();
    let mut line = String::new();
    while out.read_line(&mut line).unwrap() > 0 {
        // A line without its end was cut by the kill: not acknowledged.
        if let Some((_, id)) = line.trim_end_matches('\n').rsplit_once("acknowledged ").filter(|_| line.ends_with('\n'))
        {
            ids.push(id.to_owned());
            if ids.len() == n {
                std::thread::sleep(delay);
                child.kill().unwrap();
            }
        }
        line.clear();
    }
    child.wait().unwrap();
    ids
}

#[test]
fn every_acknowledged_entry_survives_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let mut random = std::process::id();
    let mut expected = Vec::new();
    for round in 0..12 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (n, delay) = ((random >> 28) as usize + 1, Duration::from_micros(u64::from(random % 4000)));
        let (mut one, mut two) = (spawn(&path), spawn(&path));
        let other = std::thread::spawn(move || acknowledged(&mut two, 3 + round % 5, Duration::from_micros(300)));
        let before = expected.len();
        expected.extend(acknowledged(&mut one, n, delay));
        expected.extend(other.join().unwrap());
        assert!(expected.len() > before, "the writers wrote");

        let mut ledger = Ledger::open(&path).unwrap();
        let integrity = ledger.integrity().unwrap();
        assert!(integrity.holds(), "round {round}: {integrity:?}");
        for id in &expected {
            ledger.get(id).unwrap_or_else(|error| panic!("round {round}: {error}"));
        }
        ledger.append(&Draft::new(Timestamp::UNIX_EPOCH, "note"), &round).unwrap();
    }
}
