//! The hostile samples by which other benchmarks try their own judges, in our words and for one interface, with what may
//! become of each.
//!
//! Must not judge. A new one is a file in `e2e/foreign/hostile` and a row here.

use crate::Caught::{self, Failed, Gainless, Refused};
use crate::HOSTILE;
use model::{Judgement, Rule, Stage};

/// The problem whose function they all claim to compute.
pub const PROBLEM: &str = "rms-norm-silu";
/// The honest sample: every other one's twin.
pub const TWIN: &str = "pygpubench-correct";

/// One sample: a Python candidate.
pub struct Sample {
    /// Whose it is and what it is called there; the stem of its file.
    pub name: &'static str,
    /// What it tries.
    pub does: &'static str,
    /// What may become of it; nothing, where it is honest and has to be measured.
    pub caught: &'static [Caught],
}

impl Sample {
    /// The sample's text.
    ///
    /// # Panics
    /// When the file is missing; a test holds table and folder together.
    pub fn text(&self) -> &'static str {
        let file = format!("{}.py", self.name);
        HOSTILE.iter().find(|(name, _)| *name == file).map_or_else(|| panic!("the zoo lacks {file}"), |found| found.1)
    }

    /// Whether it breaks no rule.
    pub fn is_honest(&self) -> bool {
        self.caught.is_empty()
    }

    /// Whether it need not be caught where it gains nothing: then it is timed against its twin.
    pub fn is_timed(&self) -> bool {
        self.caught.contains(&Gainless)
    }

    /// Whether the judgement is what the table says.
    pub fn fits(&self, judgement: &Judgement) -> bool {
        if self.is_honest() {
            return judgement.verdict.is_measured();
        }
        self.caught.iter().any(|caught| caught.is(judgement))
    }
}

/// What an unwritten output's memory held is chance: that it was left or that it is wrong may give it away.
const UNWRITTEN_OR_WRONG: &[Caught] = &[Refused(Rule::UnwrittenOutput), Failed(Stage::Invalid)];
/// A fault beside an argument has a rule, one that the interpreter has no words for has none.
const OUT_OF_BOUNDS: &[Caught] = &[Refused(Rule::OutOfBounds), Failed(Stage::Crashed)];
const SYSTEM_CALL: &[Caught] = &[Refused(Rule::SystemCall)];
const WRONG: &[Caught] = &[Failed(Stage::Invalid)];
const CRASHED: &[Caught] = &[Failed(Stage::Crashed)];

const fn sample(name: &'static str, does: &'static str, caught: &'static [Caught]) -> Sample {
    Sample { name, does, caught }
}

/// `pygpubench`: its twenty; `kernelbench`: its three; `sol-execbench`: the four that its checks are named after; `own`:
/// ours for interpreters.
pub const SAMPLES: &[Sample] = &[
    sample("pygpubench-correct", "the control", &[]),
    sample("pygpubench-wrong", "the other control", WRONG),
    sample("pygpubench-gc-nan", "NaN-ifies the expected answer", UNWRITTEN_OR_WRONG),
    sample("pygpubench-gc-copy", "copies the expected answer", UNWRITTEN_OR_WRONG),
    sample("pygpubench-fd-overwrite", "forges results", SYSTEM_CALL),
    sample("pygpubench-warmup", "rests after the warm-up", UNWRITTEN_OR_WRONG),
    sample("pygpubench-error-counter", "zeroes a counter", OUT_OF_BOUNDS),
    sample("pygpubench-thread-fd", "a thread forges results", SYSTEM_CALL),
    sample("pygpubench-combined", "warm-up and NaN", UNWRITTEN_OR_WRONG),
    sample("pygpubench-aes-key-recovery", "reads its own map", SYSTEM_CALL),
    sample("pygpubench-file-struct", "redirects a stream", SYSTEM_CALL),
    sample("pygpubench-function-detour", "writes code", SYSTEM_CALL),
    sample("pygpubench-got-patch", "patches imports", SYSTEM_CALL),
    sample("pygpubench-gpu-scan-zeros", "scans memory", OUT_OF_BOUNDS),
    sample("pygpubench-pipe-interpose", "interposes a pipe", SYSTEM_CALL),
    sample("pygpubench-proc-mem-bypass", "writes through /proc", SYSTEM_CALL),
    sample("pygpubench-ptrace", "attaches to the judge", SYSTEM_CALL),
    sample("pygpubench-seccomp-trap", "a filter of its own", SYSTEM_CALL),
    sample("pygpubench-heap-sig-scan", "scans its heap", UNWRITTEN_OR_WRONG),
    sample("pygpubench-incomplete-bypass", "ends with success", CRASHED),
    sample("kernelbench-result-reuse", "returns freed memory", UNWRITTEN_OR_WRONG),
    sample("kernelbench-zero-out", "zeros", WRONG),
    sample("kernelbench-non-default-stream", "works where nobody waits", SYSTEM_CALL),
    sample("sol-execbench-monkey-patch", "patches clocks", UNWRITTEN_OR_WRONG),
    sample("sol-execbench-lazy-output", "returns a promise", UNWRITTEN_OR_WRONG),
    sample("sol-execbench-thread-injection", "works after the call", SYSTEM_CALL),
    sample("sol-execbench-eval-integrity", "replaces its caller", UNWRITTEN_OR_WRONG),
    sample("own-hijack", "serves the judge itself", UNWRITTEN_OR_WRONG),
    sample("own-content-cache", "answers by content", &[Gainless]),
    sample("own-half-precision", "half the precision", WRONG),
    sample("own-forged-environment", "forges a broken sandbox", CRASHED),
    sample("own-forked-child", "a child process", SYSTEM_CALL),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_and_the_folder_agree() {
        let files: BTreeSet<String> = HOSTILE.iter().map(|(file, _)| (*file).to_owned()).collect();
        let named: BTreeSet<String> = SAMPLES.iter().map(|sample| format!("{}.py", sample.name)).collect();
        assert_eq!(named.len(), SAMPLES.len(), "a sample is there twice");
        let differences: Vec<_> = files.symmetric_difference(&named).collect();
        assert!(differences.is_empty(), "on one side only: {differences:?}");
    }

    #[test]
    fn everybodys_samples_are_all_there() {
        let check = |whose: &str, expected: usize| {
            let found = SAMPLES.iter().filter(|sample| sample.name.starts_with(whose)).count();
            assert_eq!(found, expected, "{whose}");
        };
        check("pygpubench-", 20);
        check("kernelbench-", 3);
        check("sol-execbench-", 4);
        let honest: Vec<&str> = SAMPLES.iter().filter(|sample| sample.is_honest()).map(|sample| sample.name).collect();
        assert_eq!(honest, [TWIN]);
    }
}
