//! A million calls in one runner leave it as it was: no memory, mapping, descriptor or thread more, and no call lost.

mod rig;

use protocol::{MAX_CALLS, NO_POOL};
use rig::Rig;
use std::fs;

const CALLS: usize = 1_000_000;
/// The kernel counts resident pages by the batch, KiB.
const SLACK: u64 = 512;
const CANDIDATE: &str = "#include <stdint.h>\nvoid rooflab_entry(void *const *b, const int64_t *s) {\n    (void)s;\n    \
                         ++*(volatile int64_t *)b[0];\n}\n";

fn main() {
    rig::play("a_million_calls", a_million_calls);
}

fn a_million_calls() {
    let mut runner = Rig::start(CANDIDATE, NO_POOL);
    let batches = CALLS.div_ceil(MAX_CALLS);
    let mut early = None;
    for batch in 1..=batches {
        runner.batch(MAX_CALLS);
        if batch == batches / 10 {
            early = Some(held(runner.id()));
        }
    }
    let (early, late) = (early.expect("more than ten batches"), held(runner.id()));
    assert_eq!(early.0, late.0, "descriptors, threads and mappings after a tenth, and at the end");
    assert!(late.1 <= early.1 + SLACK, "{} KiB resident after a tenth, {} at the end", early.1, late.1);
    assert_eq!(runner.number(0), (batches * MAX_CALLS) as i64, "calls made, calls ordered");
}

/// Descriptors, threads and mappings; resident memory, KiB.
fn held(pid: u32) -> ([usize; 3], u64) {
    let count = |name: &str| fs::read_dir(format!("/proc/{pid}/{name}")).map_or(0, Iterator::count);
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let resident = resident.trim().trim_end_matches(" kB").parse().unwrap_or(0);
    ([count("fd"), count("task"), maps.lines().count()], resident)
}
