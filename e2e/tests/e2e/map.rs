//! A map as people meet it: measured, kept, listed, compared, checked.

use crate::rig::{self, rooflab, seconds};
use model::{MAP_SCHEMA, Map};
use std::process::{Command, Stdio};

#[test]
fn a_quick_map_is_kept_and_can_be_asked_about() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = |arguments: &[&str], limit: u64| rig::run(rooflab(arguments).current_dir(folder.path()), seconds(limit));
    let ended = run(&["map", "--quick", "--json"], 120);
    ended.expect(0);
    let map: Map = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}:\n{ended}"));
    assert_eq!((map.schema, map.depth.as_str()), (MAP_SCHEMA, "quick"));
    for name in ["compute.f32.one", "memory.L1.read.one", "memory.DRAM.read.one", "latency.L1", "floor.call"] {
        let figure = map.figure(name).unwrap_or_else(|| panic!("no {name}; missing: {:?}", map.missing));
        assert!(figure.value > 0.0 && !figure.method.is_empty(), "{figure:?}");
        assert!(figure.interval.low <= figure.value && figure.value <= figure.interval.high, "{figure:?}");
    }
    let page = std::fs::read_to_string(folder.path().join("rooflab-out/map.html")).expect("a page");
    assert!(page.contains("Latency of a dependent load") && page.contains("Every ceiling, one core"));
    assert!(!page.contains("http://") && !page.contains("https://"), "the page asks somebody for something");

    // The stored map is shown, not measured again.
    let again = run(&["map", "--quick", "--json"], 20);
    assert_eq!(again.expect(0).out, ended.out);
    let listed = run(&["map", "list"], 20);
    assert_eq!(listed.expect(0).out.lines().count(), 2, "{listed}");
    let diff = run(&["map", "diff", "last", "last"], 20);
    assert!(diff.expect(0).out.contains("the same within their intervals"), "{diff}");
    let check = run(&["map", "check", "--json"], 60);
    let answer: serde_json::Value = serde_json::from_str(&check.expect(0).out).expect("JSON");
    assert_eq!(answer["same_machine"], true, "{check}");
    assert_eq!(answer["figures"].as_array().map(Vec::len), Some(5), "{check}");
}

#[test]
fn a_program_on_one_core_gets_fewer_figures_and_reasons() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(rig::binary()).args(["map", "--quick", "--json"]).current_dir(folder.path());
    command.env_remove("ROOFLAB_LEDGER").env("NO_COLOR", "1").stdin(Stdio::null());
    let ended = rig::run(&mut command, seconds(120));
    ended.expect(0);
    let map: Map = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}:\n{ended}"));
    assert!(map.missing.iter().any(|line| line.contains("one core only")), "{:?}", map.missing);
    assert!(map.every_figure().iter().all(|figure| figure.name.rsplit('.').next() != Some("all")));
    assert_eq!((map.fingerprint.cores, map.core_to_core), (1, None));
}

#[test]
fn what_is_no_map_is_said_to_be_none() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("no-map.json");
    std::fs::write(&file, "{}").expect("writable");
    let file = file.to_str().expect("UTF-8");
    let ended = rig::run(rooflab(["map", "diff", file, file]).current_dir(folder.path()), seconds(20));
    ended.expect(2);
    assert!(ended.err.contains("is no map"), "{ended}");
    let ended = rig::run(rooflab(["map", "check"]).current_dir(folder.path()), seconds(20));
    assert_ne!(ended.status.code(), Some(0), "there is nothing to check:\n{ended}");
    assert!(!ended.err.contains("panicked"), "{ended}");
}
