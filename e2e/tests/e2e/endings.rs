//! Every way for a worker to end: what the judge says of it, and that nothing is left.
//!
//! One table, one judge. The judge process itself is ended in `crates/judge/tests/client.rs`.

use crate::door::{Door, descendants};
use crate::rig;
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

/// What every candidate of the table begins with.
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

fn walk(rows: &[Row]) {
    let _alone = rig::alone();
    let (_folder, problem) = impatient();
    let mut door = Door::open(&problem);
    // The first job leaves what is kept from job to job: memory by workload.
    door.gate(
        "void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {}",
        "rows=16",
    );
    let before = door.held();
    let mut wrong = String::new();
    for (i, row) in rows.iter().enumerate() {
        let Row { name, before: own, body, signal, said } = row;
        let text = format!(
            "{TOP}\n{own}\nvoid rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {{\n\
             (void)raw, (void)again, (void)scribble, (void)x, (void)gate, (void)weight, (void)out, (void)rows;\n{body}\n}}\n/* {i} */\n"
        );
        if let Some((signal, whom)) = signal {
            strike(door.pid(), signal, whom);
        }
        let verdict = door.gate(&text, "rows=16").verdict.to_string();
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
    walk(RUNNER);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn every_end_of_a_builder() {
    walk(BUILDER);
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
