//! Every way for a worker to end: what the judge says of it, and that nothing is left.
//!
//! One table, one judge. The judge process itself is ended in `crates/judge/tests/client.rs`.

use crate::door::{Door, descendants};
use crate::rig;
use model::{Language, Source};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// How a worker ends, and what is said of it.
struct Row {
    name: &'static str,
    /// The candidate's own text before its function.
    before: &'static str,
    /// What its function does.
    body: &'static str,
    /// A signal that comes from outside, as the out-of-memory killer's does, to the process named.
    signal: Option<(&'static str, &'static str)>,
    /// The verdict's name, and what its text holds.
    said: (&'static str, &'static str),
}

const fn row(name: &'static str, body: &'static str, said: (&'static str, &'static str)) -> Row {
    Row { name, before: "", body, signal: None, said }
}

const fn text(name: &'static str, before: &'static str, said: (&'static str, &'static str)) -> Row {
    Row { name, before, body: "", signal: None, said }
}

const fn signal(signal: &'static str, body: &'static str, said: (&'static str, &'static str)) -> Row {
    Row { name: signal, before: "", body, signal: Some((signal, "__runner")), said }
}

const CRASHED: &str = "failed (crashed)";
const BUILD: &str = "failed (build)";
const CALL: &str = "refused (system-call)";
const LATE: &str = "failed (timed-out)";

/// The runner, by what its candidate does.
const RUNNER: &[Row] = &[
    row("returns in silence", "", ("refused (unwritten-output)", "the output")),
    row("exits with 0", "raw(EXIT, 0, 0, 0);", (CRASHED, "code 0")),
    row("exits with 7", "raw(EXIT, 7, 0, 0);", (CRASHED, "code 7")),
    row("exits as if by a signal", "raw(EXIT, 139, 0, 0);", (CRASHED, "code 139")),
    row("exits as if the sandbox had failed", "raw(EXIT, 91, 0, 0);", (CRASHED, "code 91")),
    row("segmentation fault", "*(volatile int *)8 = 1;", (CRASHED, "SIGSEGV at address 0x8")),
    row("illegal instruction", "__builtin_trap();", (CRASHED, "SIGILL")),
    row("division by zero", "volatile int zero = 0; out[0] = (int)rows / zero;", (CRASHED, "SIGFPE")),
    row("breakpoint", "__asm__ volatile(\"int3\");", (CRASHED, "SIGTRAP")),
    row(
        "misaligned, where that is checked",
        "__asm__ volatile(\"pushf\\n\\torl $0x40000, (%%rsp)\\n\\tpopf\" ::: \"memory\", \"cc\"); \
         *(volatile int *)((char *)out + 1) = 1;",
        (CRASHED, "SIGBUS"),
    ),
    row(
        "stack overflow",
        "volatile char field[1 << 16]; field[0] = 1; again(x, gate, weight, out, rows, field);",
        (CRASHED, "SIGSEGV"),
    ),
    row("a jump to nowhere", "((void (*volatile)(void))8)();", (CRASHED, "SIGSEGV at address 0x8")),
    row("a jump into its data", "((void (*)(void))(uintptr_t)line)();", (CRASHED, "SIGSEGV")),
    row("abort", "raw(KILL, raw(GETPID, 0, 0, 0), 6, 0);", (CALL, "")),
    row("stops itself", "raw(KILL, 1, 19, 0);", (CALL, "")),
    row("prints 10 GB", "for (;;) raw(WRITE, 1, (long)line, sizeof line);", (CALL, "")),
    row("a grandchild", "raw(CLONE, 17, 0, 0);", (CALL, "")),
    row("zombies", "for (;;) if (!raw(CLONE, 17, 0, 0)) raw(EXIT, 0, 0, 0);", (CALL, "")),
    row("a daemon", "if (!raw(CLONE, 0x8011, 0, 0)) for (;;) raw(34, 0, 0, 0);", (CALL, "")),
    row("sleeps", "raw(34, 0, 0, 0);", (CALL, "")),
    row("hangs on the processor", "for (;;) __asm__ volatile(\"\" ::: \"memory\");", (LATE, "no answer within")),
    row("hangs over a half-written control page", "scribble(x, rows, 12288);", (LATE, "no answer within")),
    row("fills the control page with rubbish", "scribble(x, rows, 24960);", (LATE, "no answer within")),
    signal("KILL", "for (;;) __asm__ volatile(\"\" ::: \"memory\");", (CRASHED, "SIGKILL (memory or another limit)")),
    signal("STOP", "for (;;) __asm__ volatile(\"\" ::: \"memory\");", (LATE, "no answer within")),
    // From outside its namespace, the first process of one dies of nothing but KILL.
    signal("TERM", "for (;;) __asm__ volatile(\"\" ::: \"memory\");", (LATE, "no answer within")),
    signal("SEGV", "for (;;) __asm__ volatile(\"\" ::: \"memory\");", (CRASHED, "SIGSEGV")),
];

/// The builder, by what the compiler makes of the text.
const BUILDER: &[Row] = &[
    text("fails at once", "#error", (BUILD, "#error")),
    text("dies of its own error", "int f(void) { return undeclared; }", (BUILD, "undeclared")),
    text("prints megabytes", FLOOD, (BUILD, "flood")),
    text("prints what is no text", "_Static_assert(0, \"\\xff\\xfe\\x80\");", (BUILD, "static assertion failed")),
    text(
        "prints as if it were the sandbox",
        "#pragma GCC error \"rooflab: sandbox: landlock: gone\"",
        (BUILD, "landlock: gone"),
    ),
    text("a field larger than any memory", "char field[(size_t)1 << 62];", ("failed (load)", "")),
    text("nests without end", NESTED, (BUILD, "")),
    text("the linker fails", "extern int nowhere(void); int g(void) { return nowhere(); }", (BUILD, "nowhere")),
    text("the assembler fails", "__asm__(\"no such instruction\");", (BUILD, "no such instruction")),
    Row { name: "KILL", before: ENDLESS, body: "", signal: Some(("KILL", "cc1")), said: (BUILD, "") },
    Row { name: "SEGV", before: ENDLESS, body: "", signal: Some(("SEGV", "cc1")), said: (BUILD, "") },
    Row { name: "TERM", before: ENDLESS, body: "", signal: Some(("TERM", "cc1")), said: (BUILD, "") },
    Row {
        name: "KILL to the driver",
        before: ENDLESS,
        body: "",
        signal: Some(("KILL", "cc")),
        said: (BUILD, "ended by a limit"),
    },
    // Nobody else ends it: the judge's own limit of 30 s does.
    Row { name: "STOP", before: ENDLESS, body: "", signal: Some(("STOP", "cc1")), said: (BUILD, "ended by a limit") },
];

const FLOOD: &str = "#define A _Pragma(\"GCC error \\\"flood\\\"\")\n#define B A A A A A A A A A A\n#define C B B B B B B B B B B\n\
                     #define D C C C C C C C C C C\n#define E D D D D D D D D D D\nE\n";
const NESTED: &str = "#define A(x) ((((((((x))))))))\n#define B(x) A(A(A(A(A(A(A(A(x))))))))\n#define C(x) B(B(B(B(B(B(B(B(x))))))))\n\
                      #define D(x) C(C(C(C(C(C(C(C(x))))))))\n#define E(x) D(D(D(D(D(D(D(D(x))))))))\n\
                      #define F(x) E(E(E(E(E(E(E(E(x))))))))\nint nested = F(F(F(F(F(F(F(F(1))))))));\n";
const ENDLESS: &str = "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(A(x)))))\n#define C(x) B(B(x))\n\
                       void endless(volatile int *i) { C((*i)++;) }\n";

/// The interpreter, by what the candidate's function does there.
const INTERPRETER: &[Row] = &[
    row("returns in silence", "return", ("refused (unwritten-output)", "the output")),
    row("exits with 0", "os._exit(0)", (CRASHED, "code 0")),
    row("exits with 7", "os._exit(7)", (CRASHED, "code 7")),
    row("exits as if the sandbox had failed", "os._exit(91)", (CRASHED, "code 91")),
    row("leaves by the front door", "sys.exit(3)", (CRASHED, "SystemExit: 3")),
    row("an exception", "raise ValueError('no')", (CRASHED, "ValueError: no")),
    row("an exception whose text is one", "raise Rude()", (CRASHED, "Rude")),
    row("an interrupt of its own", "raise KeyboardInterrupt", (CRASHED, "KeyboardInterrupt")),
    row("recurses without end", "again()", (CRASHED, "RecursionError")),
    // Frames of Python code lie on the heap: memory, or time, or where it is older the stack ends it.
    row("recurses past the stack's end", "sys.setrecursionlimit(1 << 30); again()", ("failed", "")),
    row("wants a terabyte", "np.ones(1 << 38)", (CRASHED, "MemoryError")),
    row("segmentation fault", "ctypes.string_at(8)", (CRASHED, "SIGSEGV")),
    row("the runtime's own end", "ctypes.pythonapi.abort()", ("refused (system-call)", "")),
    row("stops itself", "os.kill(os.getpid(), 19)", (CALL, "")),
    row("a child", "os.fork()", (CALL, "")),
    row("another program", "os.execv('/bin/true', ['true'])", (CALL, "")),
    row("a thread", "threading.Thread(target=again).start()", (CALL, "")),
    row("sleeps", "time.sleep(3600)", (CALL, "")),
    row("hangs on the processor", "while True: pass", (LATE, "no answer within")),
    row("writes 10 GB past its print", "while True: os.write(1, bytes(1 << 20))", (CALL, "")),
    row("prints what is no text, and leaves", "print('\\udcff' * 9999); os._exit(7)", (CRASHED, "code 7")),
    row("raises what is no text", "raise ValueError('\\udcff' * 9999)", (CRASHED, "ValueError")),
    Row {
        name: "KILL",
        before: "",
        body: "while True: pass",
        signal: Some(("KILL", INTERPRETED)),
        said: (CRASHED, "SIGKILL"),
    },
    Row { name: "STOP", before: "", body: "while True: pass", signal: Some(("STOP", INTERPRETED)), said: (LATE, "") },
    Row {
        name: "raises at load",
        before: "raise OSError('early')",
        body: "",
        signal: None,
        said: ("failed (load)", "early"),
    },
    Row { name: "exits at load", before: "os._exit(0)", body: "", signal: None, said: ("failed", "code 0") },
    Row { name: "hangs at load", before: "while True: pass", body: "", signal: None, said: ("failed", "") },
];

/// Part of an interpreter's command line.
const INTERPRETED: &str = "python3";

/// What every candidate of the C tables begins with.
const TOP: &str = r#"
enum { EXIT = 231, KILL = 62, GETPID = 39, WRITE = 1, CLONE = 56 };
static volatile char line[4096];
static long raw(long n, long a, long b, long c) {
    long result;
    register long r10 __asm__("r10") = 0;
    __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}
__attribute__((noinline)) static void again(const float *x, const float *gate, const float *weight, float *out, int64_t rows, volatile char *last) {
    volatile char field[1 << 12];
    field[0] = last[0] + 1;
    again(x, gate, weight, out, rows, field);
    last[0] = field[0];
}
static void scribble(const float *x, int64_t rows, int bytes) {
    uintptr_t *word = __builtin_frame_address(0);
    for (int i = 0; i < 1024; i++) {
        uintptr_t v = word[i], distance = v > (uintptr_t)x ? v - (uintptr_t)x : (uintptr_t)x - v;
        if (v == 0 || v % 4096 || distance > (uintptr_t)1 << 32) continue;
        volatile unsigned char *page = (volatile unsigned char *)v;
        if (*(volatile uint32_t *)(page + 8) != 1 || *(volatile int64_t *)(page + 24) != rows) continue;
        for (int b = 0; b < bytes; b++) page[b] = 0xff;
        for (;;) __asm__ volatile("" ::: "memory");
    }
}
"#;

/// The problem with the shortest limit that the judge grants a call: a row that hangs should not take ten seconds.
fn impatient() -> (tempfile::TempDir, PathBuf) {
    rig::variant("rms-norm-silu", &[("call_seconds = 10", "call_seconds = 1")])
}

/// Sends a signal to a process below the judge as soon as it runs, by a part of its command line.
fn strike(judge: u32, signal: &'static str, whom: &'static str) {
    std::thread::spawn(move || {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            for pid in descendants(judge) {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
                let is_it =
                    words.iter().take(2).any(|word| word.rsplit(|byte| *byte == b'/').next() == Some(whom.as_bytes()));
                if is_it {
                    // A moment, so that it is at its work and not at its own start.
                    std::thread::sleep(Duration::from_millis(200));
                    let _ = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status();
                    return;
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    });
}

/// A C candidate of one row; the number keeps equal texts apart.
fn in_c(Row { before, body, .. }: &Row, i: usize) -> Source {
    Source::c(format!(
        "{TOP}\n{before}\nvoid rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {{\n\
         (void)raw, (void)again, (void)scribble, (void)x, (void)gate, (void)weight, (void)out, (void)rows;\n{body}\n}}\n/* {i} */\n"
    ))
}

/// A Python candidate of one row.
fn in_python(Row { before, body, .. }: &Row, i: usize) -> Source {
    let text = format!(
        "import ctypes, os, sys, threading, time\nimport numpy as np\n\
         class Rude(Exception):\n    def __str__(self):\n        raise ValueError\n\
         def again():\n    again()\n\
         {before}\ndef rms_norm_silu(x, gate, weight, out, rows):\n    {body}\n    # {i}\n    pass\n"
    );
    Source { language: Language::Python, text, flags: Vec::new() }
}

fn walk(rows: &[Row], source: fn(&Row, usize) -> Source) {
    let _alone = rig::alone();
    let (_folder, problem) = impatient();
    let mut door = Door::open(&problem);
    // The first job leaves what is kept from job to job: memory by workload, and what is known of interpreters.
    door.gate(source(&row("", "return;", ("", "")), rows.len()), "rows=16");
    let before = door.held();
    let mut wrong = String::new();
    for (i, row) in rows.iter().enumerate() {
        let Row { name, signal, said, .. } = row;
        if let Some((signal, whom)) = signal {
            strike(door.pid(), signal, whom);
        }
        let verdict = door.gate(source(row, i), "rows=16").verdict.to_string();
        let short: String = verdict.chars().take(200).collect();
        println!("{name:40} {}", short.lines().next().unwrap_or_default());
        if !verdict.starts_with(said.0) || !verdict.contains(said.1) {
            let _ = writeln!(wrong, "{name}: expected {said:?}, got {short}");
        }
        if verdict.len() > 20 << 10 {
            let _ = writeln!(wrong, "{name}: {} bytes of evidence", verdict.len());
        }
        let after = door.held();
        // What has been built is kept, each in a file without a name.
        let is_same = (&after.descendants, &after.files) == (&before.descendants, &before.files)
            && after.descriptors <= before.descriptors + i + 1
            && after.mappings <= before.mappings + 4;
        if !is_same {
            let _ = writeln!(wrong, "{name}: left something: {before:?} before, {after:?} after");
        }
    }
    let left = door.close();
    assert!(left.is_empty(), "the judge left {left:?}");
    assert!(wrong.is_empty(), "{wrong}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn every_end_of_a_runner() {
    walk(RUNNER, in_c);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn every_end_of_a_builder() {
    walk(BUILDER, in_c);
}

#[test]
fn every_end_of_an_interpreter() {
    walk(INTERPRETER, in_python);
}

#[test]
fn a_judge_that_was_killed_is_swept_up_after() {
    let _alone = rig::alone();
    let (_folder, problem) = impatient();
    let door = Door::open(&problem);
    let (pid, temporary) = (door.pid(), door.temporary().to_owned());
    let built = || -> Vec<PathBuf> {
        fs::read_dir(&temporary).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    let left = built();
    assert!(!left.is_empty(), "a killed judge can't clean up");
    for path in &left {
        // As if a while had passed.
        let folder = fs::File::open(path).expect("our own folder");
        folder.set_modified(std::time::SystemTime::now() - Duration::from_secs(60)).expect("our own folder");
    }
    let mut next = Command::new(rig::binary());
    next.arg("judge").arg(&problem).arg("naive").args(["--against", "naive", "--workloads", "rows=16", "--cap", "1s"]);
    rig::run(next.env("TMPDIR", &temporary), rig::seconds(60)).expect(0);
    assert!(built().is_empty(), "left: {:?}", built());
}
