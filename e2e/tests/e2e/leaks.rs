//! Many candidates through one judge: no descriptor, process, file, mapping or memory is left. The bench `judge-leaks`
//! is the same at full size.

use crate::door::Door;
use crate::rig::{self, problem};

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
        let verdict = door.gate(&text, "rows=16").verdict.to_string();
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
