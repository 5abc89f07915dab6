//! `rooflab compare --problem` with prebuilt libraries, and interrupted.
//!
//! Must not assert how long anything took.

use crate::door::{Door, descendants};
use crate::rig::{self, problem, rooflab, seconds};
use model::{Arm, Digest, Fidelity, Job, Judgement, Library, Seconds, Slice};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The shipped naive baseline with what the judge would put before it.
fn baseline() -> String {
    let text = fs::read_to_string(problem("rms-norm-silu").join("baselines/naive.c")).expect("a baseline");
    format!("#include <stdint.h>\n#define COLS 4096\n{text}")
}

/// The same under another name, and the function as `body` has it.
fn wrapped(body: &str) -> String {
    let parameters = "const float *x, const float *gate, const float *weight, float *out, int64_t rows";
    let plain = baseline().replace("void rms_norm_silu", "static void once");
    format!("{plain}\nvoid rms_norm_silu({parameters}) {{ {body} }}\n")
}

/// Once more, so that the compiler can't leave out the first.
const TWICE: &str =
    "once(x, gate, weight, out, rows); __asm__ volatile(\"\" ::: \"memory\"); once(x, gate, weight, out, rows);";

/// Flags of a library.
const SHARED: &[&str] = &["-shared", "-lm"];

/// What the C compiler makes of a text, as anyone would call it.
fn built(folder: &Path, name: &str, text: &str, flags: &[&str]) -> PathBuf {
    let library = folder.join(name);
    let source = library.with_extension("c");
    fs::write(&source, text).expect("a source");
    let mut command = Command::new("cc");
    command.args(["-O2", "-fPIC"]).arg(&source).arg("-o").arg(&library).args(flags);
    assert!(command.status().expect("a C compiler").success(), "{command:?}");
    library
}

fn compare(folder: &Path, arguments: &[&str]) -> rig::Ended {
    let problem = problem("rms-norm-silu");
    let first = ["compare", "--problem", problem.to_str().expect("text"), "--workloads", "rows=16", "--budget", "60s"];
    let mut command = rooflab([first.as_slice(), arguments].concat());
    rig::run(command.current_dir(folder), seconds(180))
}

/// Without the terminal's line breaks and miette's bars.
fn words(ended: &rig::Ended) -> String {
    format!("{} {}", ended.out, ended.err).replace('\u{2502}', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn two_builds_of_a_library_and_a_source_through_the_gate() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    built(folder.path(), "liba.so", &baseline(), SHARED);
    built(folder.path(), "libb.so.1", &wrapped(TWICE), SHARED);
    let check = |a: &str, b: &str, code: i32, verdict: &str| {
        let ended = compare(folder.path(), &["--gate", "--json", a, b]);
        ended.expect(code);
        let found: Value = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}:\n{ended}"));
        assert_eq!(found["verdict"], verdict, "{ended}");
        assert!(found["notes"].to_string().contains("not vetted"), "{ended}");
    };
    check("liba.so", "libb.so.1", 1, "worse");
    check("libb.so.1", "liba.so", 0, "better");
    check("naive", "libb.so.1", 1, "worse");
}

#[test]
fn what_is_no_arm_is_told_with_its_fix() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    built(at, "right.so", &baseline(), SHARED);
    built(at, "misnamed.so", &baseline().replace("rms_norm_silu", "rms_norm_silu_v2"), SHARED);
    built(at, "wrong.so", &wrapped("once(x, gate, weight, out, rows); out[7] += 1;"), SHARED);
    built(at, "calling.so", &wrapped("once(x, gate, weight, out, rows); extern int getppid(void); getppid();"), SHARED);
    built(at, "libelsewhere.so", "int elsewhere(void) { return 1; }", SHARED);
    let needing = wrapped("extern int elsewhere(void); if (elsewhere()) once(x, gate, weight, out, rows);");
    built(at, "needing.so", &needing, &["-shared", "-L", at.to_str().expect("text"), "-lelsewhere", "-lm"]);
    built(at, "object.so", &baseline(), &["-c"]);
    let check = |a: &str, b: &str, code: i32, said: &[&str]| {
        let ended = compare(at, &[a, b]);
        ended.expect(code);
        let words = words(&ended);
        assert!(said.iter().all(|part| words.contains(part)), "no {said:?} in:\n{ended}");
    };
    check(
        "right.so",
        "misnamed.so",
        2,
        &["misnamed.so: it exports neither `rms_norm_silu`", "like it: `rms_norm_silu_v2`"],
    );
    check("object.so", "right.so", 2, &["object.so: it is no ELF shared library but an object file", "-shared -fPIC"]);
    check("right.so", "wrong.so", 4, &["wrong.so: failed (invalid)", "answer as the problem's oracle does"]);
    check("wrong.so", "right.so", 4, &["wrong.so: failed (invalid)", "answer as the problem's oracle does"]);
    check("right.so", "calling.so", 4, &["calling.so: refused (system-call)", "no system call in a call"]);
    check("right.so", "needing.so", 4, &["needing.so: failed (load): libelsewhere.so", "link it in statically"]);
    let problem = problem("rms-norm-silu");
    let mut command = rooflab(["judge", problem.to_str().expect("text"), "right.so"]);
    let judged = rig::run(command.current_dir(at), seconds(60));
    judged.expect(2);
    assert!(words(&judged).contains("compare --problem"), "{judged}");
}

/// Of every kind of interface, by the judge alone: right, and nothing left.
#[test]
fn a_library_has_the_function_or_the_runners_entry_and_may_pack() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let entry = "static void rms_norm_silu(const float *, const float *, const float *, float *, int64_t);\n\
                 void rooflab_entry(void *const *b, const int64_t *s) { rms_norm_silu(b[0], b[1], b[2], b[3], s[0]); }\n";
    let own = baseline().replace("void rms_norm_silu", "static void rms_norm_silu");
    let own = own.replace("#define COLS 4096\n", &format!("#define COLS 4096\n{entry}"));
    // What a C library's start, its allocator and a constructor do is no system call after the seal.
    let heap = "float *copy = malloc(4096 * sizeof *copy); if (!copy || !ready) return; memcpy(copy, weight, 4096 * sizeof *copy); \
                once(x, gate, copy, out, rows); free(copy);";
    let allocating = format!(
        "#include <stdlib.h>\n#include <string.h>\nstatic int ready;\n\
         __attribute__((constructor)) static void begin(void) {{ ready = 1; }}\n{}",
        wrapped(heap)
    );
    let matmul = "#include <stdint.h>\nenum { K = 1024, N = 3072 };\n\
        void matmul_small_m_prepare(const float *w, float *packed, int64_t m) { for (int i = 0; i < K * N; i++) packed[i] = w[i]; }\n\
        void matmul_small_m(const float *x, const float *w, const float *packed, float *y, int64_t m) {\n\
        for (int64_t i = 0; i < m; i++) { for (int j = 0; j < N; j++) y[i * N + j] = 0; for (int l = 0; l < K; l++)\n\
        for (int j = 0; j < N; j++) y[i * N + j] += x[i * K + l] * packed[l * N + j]; } }\n";
    let unpacked = matmul.replace("matmul_small_m_prepare", "another").replace("* packed[", "* w[");
    let check = |name: &str, workload: &str, text: &str| {
        let library = built(folder.path(), "arm.so", text, SHARED);
        let mut door = Door::open(&problem(name));
        let digest = Digest::of(fs::read(&library).expect("built above"));
        let job = Job {
            candidate: Arm::Library(Library { path: library, digest }),
            against: Arm::Baseline("naive".to_owned()),
            slice: Slice::Named(vec![workload.to_owned()]),
            fidelity: Fidelity::Gate,
            margin: 0.005,
            cap: Seconds(60.0),
        };
        let mut answer = door.ask(&json!({"request": "judge", "job": job}));
        assert_eq!(answer["response"], "judged", "{answer}");
        let judgement: Judgement = serde_json::from_value(answer["judgement"].take()).expect("a judgement");
        assert!(judgement.verdict.is_measured(), "{}:\n{text}", judgement.verdict);
        assert_eq!(judgement.artefact, Some(digest));
        assert!(door.close().is_empty());
    };
    check("rms-norm-silu", "rows=16", &own);
    check("rms-norm-silu", "rows=16", &allocating);
    check("matmul-small-m", "m=1", matmul);
    check("matmul-small-m", "m=1", &unpacked);
}

/// Runners that a comparison starts before its second counted pair, and some: two gates, five pairs of A with itself.
const FIRST_RUNNERS: usize = 16;

/// Waits until this many runners have been below a process, each of which lives for a tenth of a second at least.
fn await_runners(below: u32, told: &dyn Fn() -> String) {
    let mut seen = BTreeSet::new();
    let end = Instant::now() + seconds(120);
    while seen.len() < FIRST_RUNNERS {
        assert!(Instant::now() < end, "{} runners: {}", seen.len(), told());
        let is_runner = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|word| word == b"__runner")
        };
        seen.extend(descendants(below).into_iter().filter(is_runner));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// From a terminal the signal goes to the whole group, from `kill` to one process.
#[test]
fn an_interrupted_comparison_of_candidates_keeps_its_pairs_and_leaves_nothing() {
    let _alone = rig::alone();
    for to_group in [false, true] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let temporary = folder.path().join("tmp");
        fs::create_dir(&temporary).expect("our own folder");
        open_to_all(&temporary);
        open_to_all(folder.path());
        let problem = problem("rms-norm-silu");
        // A against itself with no margin is never decided.
        let arguments = [
            "--json",
            "--margin",
            "0%",
            "--budget",
            "600s",
            "--workloads",
            "rows=16",
            "--plot",
            "p.svg",
            "naive",
            "naive",
        ];
        let mut command = rooflab(["compare", "--problem", problem.to_str().expect("text")]);
        command.args(arguments).env("TMPDIR", &temporary).current_dir(folder.path()).process_group(0);
        let mut child = rig::spawn(&mut command, folder.path());
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        await_runners(child.id(), &|| read("stderr"));
        let below = descendants(child.id());
        let whom = format!("{}{}", if to_group { "-" } else { "" }, child.id());
        assert!(Command::new("kill").args(["-INT", "--", &whom]).status().expect("kill").success());
        let (status, overran) = rig::wait(&mut child, seconds(60));
        assert!(!overran && status.code() == Some(130), "{status}: {}", read("stderr"));
        let found: Value = serde_json::from_str(&read("stdout")).unwrap_or_else(|e| panic!("{e}: {}", read("stdout")));
        assert_eq!(found["verdict"], "undecided");
        assert!(found["aborted"].as_str().is_some_and(|why| why.contains("interrupted")), "{found}");
        assert!(found["pairs"].as_u64().is_some_and(|pairs| pairs >= 1), "{found}");
        assert!(found["comparisons"][0]["units"].as_array().is_some_and(|units| !units.is_empty()), "{found}");
        assert!(read("stderr").contains("interrupted"), "{}", read("stderr"));
        assert!(read("p.svg").contains("<svg"), "the plot is of what was measured");
        let alive: Vec<u32> = below.into_iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).collect();
        assert!(alive.is_empty(), "{alive:?} run on");
        let left: Vec<PathBuf> = fs::read_dir(&temporary).expect("ours").flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The builder runs as another user where the tests run as root.
fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o711)).expect("our own folder");
}
