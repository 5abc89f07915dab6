//! The table: problem, cheat, what it tries, what may become of it. The rule that is meant to catch it comes first.

use super::Caught::{self, Failed, Gainless, Refused};
use model::{Rule, Stage};

/// One cheat and its twin.
pub struct Row {
    /// The problem whose function it claims to compute.
    pub problem: &'static str,
    /// Stem of both files.
    pub name: &'static str,
    /// What the cheat tries.
    pub does: &'static str,
    /// What may become of it.
    pub caught: &'static [Caught],
    /// Further arguments of `rooflab judge`, for both.
    pub arguments: &'static [&'static str],
}

const fn norm(name: &'static str, does: &'static str, caught: &'static [Caught]) -> Row {
    Row { problem: "rms-norm-silu", name, does, caught, arguments: &[] }
}

/// The first workload alone, and no longer than it takes to see that it is measured.
const fn short(name: &'static str, does: &'static str, caught: &'static [Caught]) -> Row {
    Row { problem: "rms-norm-silu", name, does, caught, arguments: &["--workloads", "rows=16", "--cap", "4s"] }
}

/// At length 128 alone: longer ones take seconds in naive code, and show nothing more.
const fn attention(name: &'static str, does: &'static str, caught: &'static [Caught]) -> Row {
    Row { problem: "attention-prefill", name, does, caught, arguments: &["--workloads", "len=128"] }
}

const fn matmul(name: &'static str, does: &'static str, caught: &'static [Caught]) -> Row {
    Row { problem: "matmul-small-m", name, does, caught, arguments: &[] }
}

const fn matmul_short(name: &'static str, does: &'static str, caught: &'static [Caught]) -> Row {
    Row { problem: "matmul-small-m", name, does, caught, arguments: &["--workloads", "m=1", "--cap", "6s"] }
}

/// With a thread beside the one that calls, on a batch long enough for a judge that shares its core with it.
const fn pooled(name: &'static str, does: &'static str, caught: &'static [Caught]) -> Row {
    Row { problem: "rms-norm-silu-pool", name, does, caught, arguments: &["--workloads", "rows=128", "--cap", "6s"] }
}

/// The zoo.
pub const ROWS: &[Row] = &[
    // outputs
    norm("no-op", "an earlier answer is still in the buffer", &[Refused(Rule::UnwrittenOutput)]),
    norm("half-output", "writes half and hopes for a sampled check", &[Refused(Rule::UnwrittenOutput)]),
    norm("nan-output", "defeats comparisons with NaN", &[Failed(Stage::Invalid)]),
    norm("zero-output", "hides in an absolute tolerance", &[Failed(Stage::Invalid)]),
    norm("constant-output", "hides in a tolerance relative to the mean", &[Failed(Stage::Invalid)]),
    // answers used twice
    norm("pointer-cache", "same address, same answer", &[Failed(Stage::Invalid), Refused(Rule::Inconsistent)]),
    norm("content-cache", "same content, same answer; content is never the same", &[Gainless]),
    norm("replay-first", "computes once", &[Failed(Stage::Invalid), Refused(Rule::Inconsistent)]),
    norm(
        "call-counter",
        "right while it is checked, idle while it is timed",
        &[Refused(Rule::UnwrittenOutput), Failed(Stage::Invalid), Refused(Rule::Inconsistent)],
    ),
    norm(
        "cycle-counter",
        "the same by the cycle counter",
        &[
            Refused(Rule::UnwrittenOutput),
            Failed(Stage::Invalid),
            Refused(Rule::Inconsistent),
            Failed(Stage::Crashed),
            Refused(Rule::SystemCall),
        ],
    ),
    norm(
        "poison-detector",
        "works only when it sees the judge's poison, which is there in every call",
        &[Gainless, Refused(Rule::UnwrittenOutput)],
    ),
    // inputs and bounds
    norm("input-mutation", "leaves other inputs for the reference", &[Refused(Rule::WroteInput)]),
    norm("write-past-end", "writes beyond its output", &[Refused(Rule::OutOfBounds)]),
    norm("write-before-start", "writes before its output", &[Refused(Rule::OutOfBounds)]),
    norm("read-past-end", "reads beyond its input", &[Refused(Rule::OutOfBounds)]),
    // a cheaper function
    norm("bfloat16", "less precision than asked for", &[Failed(Stage::Invalid)]),
    norm("assumed-norm", "agrees on standard normal inputs, nearly", &[Failed(Stage::Invalid)]),
    // threads, processes, system calls
    norm("thread-in-call", "works on after the clock has stopped", &[Refused(Rule::ForbiddenImport)]),
    norm("thread-raw", "the same without an import", &[Refused(Rule::SystemCall), Refused(Rule::ExtraThread)]),
    norm(
        "thread-in-constructor",
        "starts a thread before the seal",
        &[Refused(Rule::CodeAtLoad), Refused(Rule::ForbiddenImport), Refused(Rule::ExtraThread)],
    ),
    norm("fork-raw", "a fork bomb", &[Refused(Rule::SystemCall)]),
    norm("fork-libc", "a fork bomb, imported", &[Refused(Rule::ForbiddenImport)]),
    norm("clock-raw", "reads the clock", &[Refused(Rule::SystemCall)]),
    norm("clock-libc", "reads the clock, imported", &[Refused(Rule::ForbiddenImport)]),
    norm("file-raw", "reads a file", &[Refused(Rule::SystemCall)]),
    norm("file-libc", "reads a file, imported", &[Refused(Rule::ForbiddenImport)]),
    norm("forged-verdict", "prints its own verdict", &[Refused(Rule::SystemCall)]),
    norm("kill-everything", "kills the judge", &[Refused(Rule::SystemCall)]),
    norm("exit-in-call", "ends with success", &[Failed(Stage::Crashed), Refused(Rule::SystemCall)]),
    norm("old-gate", "a system call by the 32-bit gate", &[Refused(Rule::SystemCall)]),
    norm("fault-handler-libc", "outlives its faults, imported", &[Refused(Rule::ForbiddenImport)]),
    norm("fault-handler-raw", "outlives its faults", &[Refused(Rule::SystemCall)]),
    norm("own-heap", "grows the heap", &[Refused(Rule::ForbiddenImport)]),
    norm("symbol-lookup", "looks for the runner's functions", &[Refused(Rule::ForbiddenImport)]),
    // code
    norm("constructor", "works while it is loaded", &[Refused(Rule::CodeAtLoad)]),
    norm("init-function", "the same through DT_INIT", &[Refused(Rule::CodeAtLoad)]),
    norm("ifunc", "the same through an IFUNC resolver", &[Refused(Rule::CodeAtLoad)]),
    norm("make-writable", "writes new code", &[Refused(Rule::SystemCall)]),
    norm(
        "executable-stack",
        "writes new code on the stack",
        // The builder links without an executable stack, so that the code on it faults.
        &[Refused(Rule::WritableCode), Failed(Stage::Crashed)],
    ),
    norm("writable-code", "changes its code", &[Refused(Rule::WritableCode)]),
    norm("own-entry", "replaces the generated entry", &[Failed(Stage::Build), Refused(Rule::ForbiddenBuild)]),
    // the builder
    norm("include-file", "reads a file through the compiler", &[Refused(Rule::ForbiddenBuild), Failed(Stage::Build)]),
    norm(
        "include-oracle",
        "reads the oracle through the compiler",
        &[Refused(Rule::ForbiddenBuild), Failed(Stage::Build)],
    ),
    norm(
        "include-spelt-otherwise",
        "the same past a search for #include",
        &[Refused(Rule::ForbiddenBuild), Failed(Stage::Build)],
    ),
    norm("incbin", "reads a file through the assembler", &[Refused(Rule::ForbiddenBuild), Failed(Stage::Build)]),
    // A compiler without the directive fails as well.
    norm("embed", "embeds a file", &[Refused(Rule::ForbiddenBuild), Failed(Stage::Build)]),
    norm(
        "compile-bomb",
        "takes the compiler's time and memory",
        &[Failed(Stage::Build), Failed(Stage::TimedOut), Refused(Rule::ForbiddenBuild)],
    ),
    norm(
        "artefact-bomb",
        "fills the disk",
        &[Failed(Stage::Build), Failed(Stage::TimedOut), Refused(Rule::ForbiddenBuild), Failed(Stage::Load)],
    ),
    norm("does-not-compile", "not C", &[Failed(Stage::Build)]),
    norm("no-function", "another function's name", &[Failed(Stage::Build), Failed(Stage::Load)]),
    norm(
        "swallowed-shim",
        "makes the generated entry disappear",
        &[Failed(Stage::Build), Failed(Stage::Load), Refused(Rule::ForbiddenBuild)],
    ),
    // crashes and loops
    norm("infinite-loop", "never ends", &[Failed(Stage::TimedOut)]),
    norm("stack-overflow", "recurses without end", &[Failed(Stage::Crashed), Refused(Rule::OutOfBounds)]),
    norm("divide-by-zero", "dies of a signal", &[Failed(Stage::Crashed)]),
    norm("hijack-by-polling", "answers before it is told to go, and never returns", &[Failed(Stage::TimedOut)]),
    norm(
        "hijack-by-control-page",
        "the same, and serves the judge's orders itself",
        &[
            Refused(Rule::TamperedRunner),
            Failed(Stage::TimedOut),
            Failed(Stage::Invalid),
            Refused(Rule::Inconsistent),
            Refused(Rule::UnwrittenOutput),
            Failed(Stage::Crashed),
            Refused(Rule::OutOfBounds),
            Gainless,
        ],
    ),
    norm(
        "early-done",
        "reports a batch done before it is",
        &[
            Refused(Rule::UnwrittenOutput),
            Refused(Rule::TamperedRunner),
            Failed(Stage::TimedOut),
            Failed(Stage::Invalid),
            Refused(Rule::Inconsistent),
            Failed(Stage::Crashed),
            Refused(Rule::OutOfBounds),
            Gainless,
        ],
    ),
    // longer problems
    Row {
        problem: "attention-prefill",
        name: "one-shape",
        does: "right at the length that a search looks at first",
        caught: &[Failed(Stage::Invalid)],
        // Against naive code both survive the first length, so that the second is looked at.
        arguments: &["--workloads", "len=128,len=333", "--against", "naive"],
    },
    attention("window", "leaves most keys out", &[Failed(Stage::Invalid)]),
    attention(
        "scratch-stash",
        "keeps old inputs in its scratch",
        &[Failed(Stage::Invalid), Refused(Rule::Inconsistent)],
    ),
    matmul("packed-bfloat16", "loses precision where nobody times it", &[Failed(Stage::Invalid)]),
    matmul("prepare-mutates-weights", "changes the weights while it packs them", &[Refused(Rule::WroteInput)]),
    matmul(
        "packed-stash",
        "keeps an answer among the packed weights",
        &[Refused(Rule::WroteInput), Failed(Stage::Invalid), Refused(Rule::Inconsistent)],
    ),
    // outputs, once more
    short("far-write", "writes where the outputs of other calls would lie", &[Refused(Rule::OutOfBounds)]),
    short("padding-scratch", "borrows the padding and puts it back", &[Refused(Rule::OutOfBounds)]),
    short(
        "sampled-rows",
        "wrong in the rows that a sampled check may miss",
        &[Failed(Stage::Invalid), Refused(Rule::Inconsistent)],
    ),
    short("dice", "wrong by luck", &[Failed(Stage::Invalid), Refused(Rule::Inconsistent)]),
    short(
        "page-alignment",
        "takes an accident of the memory for a promise",
        &[Failed(Stage::Invalid), Refused(Rule::OutOfBounds), Gainless],
    ),
    short("seed-replay", "hopes for the same inputs in every process", &[Gainless]),
    short("tolerance-edge", "off by one element's tolerance in every element", &[Failed(Stage::Invalid)]),
    short("narrow-exp", "wrong where its inputs never were", &[Failed(Stage::Invalid)]),
    attention("no-maximum", "overflows where its inputs never were", &[Failed(Stage::Invalid), Gainless]),
    attention(
        "zero-scratch",
        "takes fresh memory to be zero",
        &[Failed(Stage::Invalid), Refused(Rule::UnwrittenOutput)],
    ),
    attention("left-over", "finds what an earlier process left", &[Gainless]),
    // the clock
    short("slow-start", "slow while the judge sizes its batches", &[Gainless]),
    short(
        "cache-channel",
        "times the cache to tell whether anyone will check",
        &[Gainless, Refused(Rule::Inconsistent), Failed(Stage::Invalid)],
    ),
    short(
        "predicted-done",
        "reports the next batch done before it is asked for",
        &[Refused(Rule::UnwrittenOutput), Failed(Stage::TimedOut)],
    ),
    short(
        "early-tail",
        "reports a batch done a few microseconds early",
        &[Refused(Rule::UnwrittenOutput), Refused(Rule::Inconsistent)],
    ),
    short("user-wait", "hangs without using the processor", &[Failed(Stage::TimedOut), Failed(Stage::Crashed)]),
    short(
        "vdso",
        "reads the clock without a system call",
        &[
            Refused(Rule::UnwrittenOutput),
            Failed(Stage::Invalid),
            Refused(Rule::Inconsistent),
            Failed(Stage::Crashed),
            Refused(Rule::SystemCall),
        ],
    ),
    matmul_short("call-ahead", "computes a batch's calls together; a batch of long calls has but one", &[Gainless]),
    // what lies in the process
    short("harness-kernel", "calls the baseline that lies in the harness", &[Failed(Stage::Crashed)]),
    short("libc-by-pointer", "finds the C library's functions without an import", &[Refused(Rule::SystemCall)]),
    short("stack-scan", "looks for the reference's answers on the stack", &[Gainless, Failed(Stage::Crashed)]),
    short("self-modifying", "writes over its own code", &[Failed(Stage::Crashed)]),
    short("data-as-code", "calls an array", &[Failed(Stage::Crashed)]),
    short("forged-fault", "blames the sandbox, so that the campaign stops", &[Failed(Stage::Crashed)]),
    // the state that a call leaves
    short("rounding-mode", "leaves another rounding mode", &[Gainless, Failed(Stage::Invalid)]),
    short(
        "direction-flag",
        "leaves the direction flag set",
        &[
            Failed(Stage::Crashed),
            Gainless,
            Refused(Rule::OutOfBounds),
            Refused(Rule::UnwrittenOutput),
            Failed(Stage::Invalid),
            Failed(Stage::TimedOut),
        ],
    ),
    short("dirty-state", "leaves wide registers full for the next arm", &[Gainless]),
    short("evict-rival", "empties the rival's caches", &[Gainless]),
    short("code-flood", "empties the rival's instruction cache", &[Gainless]),
    matmul_short("flush-rival", "flushes the weights that the rival alone reads", &[Gainless]),
    short("memory-hog", "takes all memory", &[Failed(Stage::Load), Failed(Stage::Build), Failed(Stage::Crashed)]),
    // the builder, once more
    short("assembler-bomb", "takes the assembler's memory", &[Failed(Stage::Build)]),
    short(
        "assembler-include",
        "reads a file by the assembler's directive",
        &[Failed(Stage::Build), Refused(Rule::ForbiddenBuild)],
    ),
    short("include-itself", "includes itself", &[Failed(Stage::Build), Refused(Rule::ForbiddenBuild)]),
    short(
        "own-dynamic",
        "shows the loader another table than the judge",
        &[Refused(Rule::CodeAtLoad), Refused(Rule::WritableCode), Failed(Stage::Build), Failed(Stage::Load)],
    ),
    // a pool of threads
    pooled(
        "pool-left-working",
        "reports a batch done while a thread of the pool is at work",
        &[Refused(Rule::ExtraThread), Refused(Rule::UnwrittenOutput)],
    ),
    pooled(
        "pool-jump-out",
        "returns from the middle of what is shared out",
        &[Gainless, Refused(Rule::UnwrittenOutput), Refused(Rule::ExtraThread)],
    ),
];
