//! Many candidates through one judge: no descriptor, process, file, mapping or memory is left. The bench `judge-leaks`
//! is the same at full size.

use crate::door::{Door, descendants, gate};
use crate::rig::{self, problem};
use model::Source;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Candidates; every tenth has a text of its own, so that the builder runs too.
const CANDIDATES: usize = 300;
/// Growth of the judge's memory that is noise: glibc's own heap, and what is kept of each new build.
const GROWTH: u64 = 8 << 20;

#[test]
fn hundreds_of_candidates_leave_nothing() {
    let _alone = rig::alone();
    let mut door = Door::open(&problem("rms-norm-silu"));
    let idle = |door: &mut Door, i: usize| {
        let text = format!(
            "void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {{}}\n/* {} */\n",
            i / 10
        );
        let verdict = door.gate(Source::c(text), "rows=16").verdict.to_string();
        assert!(verdict.starts_with("refused (unwritten-output)"), "{verdict}");
    };
    // What is kept by design is kept by then: memory by workload, the first artefacts.
    for i in 0..20 {
        idle(&mut door, i);
    }
    let (before, resident) = (door.held(), door.resident());
    for i in 20..CANDIDATES {
        idle(&mut door, i);
    }
    let after = door.held();
    let built = (CANDIDATES - 20) / 10;
    assert!(
        after.descriptors <= before.descriptors + built,
        "descriptors beyond the cached artefacts: {before:?}, {after:?}"
    );
    assert_eq!(after.descendants, before.descendants);
    assert_eq!(after.files, before.files);
    assert!(after.mappings <= before.mappings + 4, "mappings: {} before, {} after", before.mappings, after.mappings);
    let grown = door.resident().saturating_sub(resident);
    assert!(grown < GROWTH, "{grown} bytes more than after the first 20");
    assert!(door.close().is_empty());
}

const IDLE: &str =
    "void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {}\n";

/// The kernel's parent-death signal is asked for by a role itself, so there is a moment before it. Both are stopped in
/// it, the judge is killed, and the role goes on.
#[test]
fn a_role_that_starts_while_its_judge_dies_ends_too() {
    let _alone = rig::alone();
    for _ in 0..3 {
        let mut door = Door::open(&problem("rms-norm-silu"));
        let judge = door.pid();
        // What is built already needs no builder, which would end by itself.
        door.gate(Source::c(IDLE), "rows=16");
        door.tell(&gate(Source::c(IDLE), "rows=16"));
        let end = Instant::now() + Duration::from_secs(20);
        let role = loop {
            assert!(Instant::now() < end, "no role was started");
            if let Some(role) = first_child(judge) {
                break role;
            }
        };
        signal("STOP", &[judge, role]);
        signal("KILL", &[judge]);
        drop(door);
        signal("CONT", &[role]);
        let process = PathBuf::from(format!("/proc/{role}"));
        let end = Instant::now() + Duration::from_secs(5);
        while process.exists() {
            assert!(Instant::now() < end, "role {role} runs on without its judge");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Through the kernel's list, where it has one: reading every process takes longer than a role's start.
fn first_child(of: u32) -> Option<u32> {
    match fs::read_to_string(format!("/proc/{of}/task/{of}/children")) {
        Ok(children) => children.split_whitespace().next()?.parse().ok(),
        Err(_) => descendants(of).first().copied(),
    }
}

fn signal(name: &str, whom: &[u32]) {
    let status = Command::new("kill").arg(format!("-{name}")).args(whom.iter().map(u32::to_string)).status();
    assert!(status.expect("kill").success());
}
