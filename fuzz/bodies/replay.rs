//! Runs a fuzz target's body over its corpus, and over small changes of it: what the tests can do without a fuzzer.

use std::path::Path;

/// Changed copies of each file of the corpus.
const CHANGES: u64 = 150;

/// Every file of the target's corpus, as it is and changed.
pub fn replay(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder).expect("the corpus").flatten().map(|e| e.path()).collect();
    files.sort();
    assert!(files.len() > 3, "the corpus of {target} is nearly empty");
    for (seed, path) in files.iter().enumerate() {
        let bytes = std::fs::read(path).expect("a file of the corpus");
        body(&bytes);
        for change in 0..CHANGES {
            body(&changed(&bytes, (seed as u64) << 32 | change));
        }
    }
}

/// A few edits that a seed picks: a byte flipped, a part cut out, doubled or moved, a number made huge.
fn changed(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |n: usize| {
        state ^= state >> 29;
        state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state ^= state >> 32;
        (state % n.max(1) as u64) as usize
    };
    let mut out = bytes.to_vec();
    for _ in 0..=below(3) {
        if out.is_empty() {
            break;
        }
        let from = below(out.len());
        let to = (from + below(24)).min(out.len());
        match below(6) {
            0 => out[from] ^= 1 << below(8),
            1 => drop(out.drain(from..to)),
            2 => {
                let part = out[from..to].to_vec();
                out.splice(from..from, part);
            }
            3 => out.truncate(from),
            4 => {
                const ODD: [&[u8]; 10] =
                    [b"-1", b"0", b"1e308", b"NaN", b"18446744073709551616", b"null", b"[]", b"{}", b"\"\"", b"\xff"];
                out.splice(from..to, ODD[below(ODD.len())].iter().copied());
            }
            _ => {
                let part: Vec<u8> = out.drain(from..to).collect();
                let at = below(out.len());
                out.splice(at..at, part);
            }
        }
    }
    out
}
