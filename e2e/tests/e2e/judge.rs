//! The judge from outside: its selftest, a batch that is killed and taken up, and what it makes of times that can't be.

use crate::rig::{self, problem, rooflab, root, seconds};
use model::{
    Arm, Bytes, BytesPerSecond, ComputeCeiling, CountPerSecond, Fidelity, Fingerprint, FlopPerSecond, Interval, Job,
    Judgement, Map, MemoryCeiling, Rule, Seconds, Slice, Source, Verdict,
};
use std::fs::{self, File};
use std::path::Path;
use zoo::{Kind, ROWS};

fn text(name: &str, kind: Kind) -> &'static str {
    ROWS.iter().find(|row| row.name == name).expect("a row of the zoo").text(kind)
}

#[test]
fn the_selftest_passes_and_is_kept() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().unwrap();
    let mut command = rooflab(["judge", "selftest", "--out"]);
    let ended = rig::run(command.arg(folder.path()), seconds(180));
    ended.expect(0);
    let rows = ROWS.iter().filter(|row| row.is_quick()).count();
    let last = ended.out.lines().last().unwrap_or_default();
    assert!(last.starts_with(&format!("selftest: {rows} of {rows} rows as expected")), "{ended}");
    let mut command = rooflab(["ledger", "export", "--ledger"]);
    let kept = rig::run(command.arg(folder.path().join("ledger.db")), seconds(60));
    assert!(kept.expect(0).out.contains(r#""kind":"selftest""#), "{kept}");
    assert!(kept.out.contains(&zoo::digest().to_string()), "{kept}");
}

/// A judge that holds many descriptors gives a runner the right ones: those that are moved out of the way on their way
/// to a runner must not be moved onto one another.
#[test]
fn how_many_descriptors_a_judge_holds_does_not_matter() {
    const HOLD: &str = "for i in $(seq \"$1\"); do exec {held}</dev/null; done; shift; exec \"$@\"";
    let _alone = rig::alone();
    let folder = tempfile::tempdir().unwrap();
    let candidate = folder.path().join("twin.c");
    fs::write(&candidate, text("no-op", Kind::Twin)).unwrap();
    for held in [150, 165, 180, 185, 188] {
        let judge = rooflab::<&str>([]);
        let mut command = std::process::Command::new("bash");
        command.args(["-c", HOLD, "bash", &held.to_string()]).arg(judge.get_program());
        command.arg("judge").arg(problem("rms-norm-silu")).arg(&candidate);
        command.args(["--workloads", "rows=16", "--fixed", "8", "--json"]).env_remove("ROOFLAB_LEDGER");
        let ended = rig::run(&mut command, seconds(60));
        let judgement: Judgement = serde_json::from_str(&ended.expect(0).out).unwrap();
        assert!(judgement.verdict.is_measured(), "{held} descriptors: {}", judgement.verdict);
    }
}

#[test]
fn a_killed_batch_goes_on_and_is_imported_elsewhere() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().unwrap();
    let (queue, out, ledger) =
        (folder.path().join("queue"), folder.path().join("batch.jsonl"), folder.path().join("elsewhere.db"));
    fs::create_dir(&queue).unwrap();
    fs::write(queue.join("a-cheat.c"), text("no-op", Kind::Cheat)).unwrap();
    fs::write(queue.join("b-twin.c"), text("no-op", Kind::Twin)).unwrap();
    fs::write(queue.join("c-cheat.c"), text("half-output", Kind::Cheat)).unwrap();
    let batch = || {
        let mut command = rooflab(["judge".as_ref(), problem("rms-norm-silu").as_os_str()]);
        command.args(["--batch".as_ref(), queue.as_os_str(), "--out".as_ref(), out.as_os_str()]);
        command.args(["--no-map", "--workloads", "rows=16", "--fixed", "8"]);
        command
    };
    // Cut at ever later moments: while it starts, while it judges, between two candidates.
    let mut limit = 250;
    let ended = loop {
        let ended = rig::run(&mut batch(), std::time::Duration::from_millis(limit));
        if !ended.overran {
            break ended;
        }
        limit += 450;
        assert!(limit < 60_000, "it never ends: {ended}");
    };
    ended.expect(0);
    let text = fs::read_to_string(&out).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let files: Vec<_> = lines.iter().filter_map(|line| line["body"]["file"].as_str()).collect();
    assert_eq!(files, ["a-cheat.c", "b-twin.c", "c-cheat.c"], "each once, whatever was cut");
    let judgement: Judgement = serde_json::from_value(lines[2]["body"]["judgement"].clone()).unwrap();
    assert_eq!(judgement.shapes[0].units.len(), 8, "the samples are there");

    let import = || rig::run(rooflab(["ledger", "import"]).arg(&out).arg("--ledger").arg(&ledger), seconds(60));
    assert!(import().expect(0).out.starts_with("4 entries are new, 0 were here already"));
    assert!(import().expect(0).out.starts_with("0 entries are new, 4 were here already"));
    let id = lines[0]["campaign"].as_str().unwrap();
    let shown = rig::run(rooflab(["ledger", "show", id]).arg("--ledger").arg(&ledger), seconds(60));
    let words = shown.expect(0).out.clone();
    assert!(words.contains("a-cheat.c") && words.contains("refused (unwritten-output)"), "{shown}");
}

/// A machine far slower than any: what every honest candidate beats.
fn slow_map() -> Map {
    let spread = Interval { low: 1e6, high: 1e6 };
    let rate = FlopPerSecond(1e6);
    Map {
        fingerprint: Fingerprint {
            cpu: "slow".into(),
            cores: 1,
            features: Vec::new(),
            kernel: String::new(),
            platform: String::new(),
            probes: 0,
        },
        clock_resolution: Seconds(1e-9),
        clock_overhead: Seconds(1e-8),
        core_clock: None,
        compute: vec![ComputeCeiling {
            name: "f32".into(),
            isa: String::new(),
            burst: rate,
            sustained: rate,
            spread,
            method: String::new(),
        }],
        exp: Some(CountPerSecond(1e6)),
        memory: vec![MemoryCeiling {
            level: "L2".into(),
            kernel: "read".into(),
            working_set: Bytes(1e6),
            best: BytesPerSecond(1e6),
            sustained: BytesPerSecond(1e6),
            spread,
            method: String::new(),
        }],
        ..Map::default()
    }
}

/// Asks a judge with this map about an honest candidate.
fn ask_with(map: &Map, problem: &Path) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let job = Job {
        candidate: Arm::Source(Source::c(text("no-op", Kind::Twin))),
        against: Arm::Baseline("naive".into()),
        slice: Slice::Named(vec!["rows=16".into()]),
        fidelity: Fidelity::Fixed { alpha: 0.05, process_pairs: 8 },
        margin: 0.005,
        cap: Seconds(60.0),
    };
    let open = serde_json::json!({
        "request": "open", "problem": problem, "unconfined": false, "seed": null, "map": map,
    });
    let asked = serde_json::json!({ "request": "judge", "job": job });
    let path = folder.path().join("requests");
    fs::write(&path, format!("{open}\n{asked}\n")).unwrap();
    let mut command = rooflab(["__judge"]);
    let ended = rig::run(command.stdin(File::open(&path).unwrap()), seconds(120));
    let last = ended.expect(0).out.lines().last().unwrap_or_default().to_owned();
    let answer: serde_json::Value = serde_json::from_str(&last).unwrap_or_else(|error| panic!("{error}: {ended}"));
    let judgement: Judgement =
        serde_json::from_value(answer["judgement"].clone()).unwrap_or_else(|error| panic!("{error}: {ended}"));
    judgement.verdict
}

#[test]
fn a_ceiling_that_honest_code_breaks_is_the_maps_fault() {
    let _alone = rig::alone();
    let verdict = ask_with(&slow_map(), &problem("rms-norm-silu"));
    let Verdict::Quarantined { why } = &verdict else { panic!("{verdict}") };
    assert!(why.starts_with("ceiling broken: "), "{why}");
}

#[test]
fn a_time_below_what_the_probes_allow_is_refused() {
    let _alone = rig::alone();
    // The same problem, counted as a million times the work: no machine could do that in the time.
    let counted = ("flop = \"7 * rows * cols\"", "flop = \"7000000 * rows * cols\"");
    let (_folder, problem) = rig::variant("rms-norm-silu", &[counted]);
    let verdict = ask_with(&slow_map(), &problem);
    let Verdict::Refused { rule, detail } = &verdict else { panic!("{verdict}") };
    assert_eq!(*rule, Rule::FasterThanPossible, "{detail}");
}

#[test]
fn a_pool_without_enough_cores_is_refused_with_the_fix() {
    let _alone = rig::alone();
    let cores = std::thread::available_parallelism().expect("Linux says it").get();
    if cores > 32 {
        return;
    }
    let (_folder, problem) = rig::variant("rms-norm-silu-pool", &[("threads = 1", &format!("threads = {cores}"))]);
    let ended = rig::run(&mut rooflab(["judge".as_ref(), problem.as_os_str(), "naive".as_ref()]), seconds(60));
    let words = ended.expect(4).err.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let fix = if cores > 1 { format!("write `threads = {}`", cores - 1) } else { "leave `threads` out".to_owned() };
    for part in [&format!("needs {} cores", cores + 1), &fix] {
        assert!(words.contains(part.as_str()), "no `{part}` in:\n{ended}");
    }
}

#[test]
fn nothing_is_left_in_the_file_system() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().unwrap();
    let candidate = folder.path().join("candidate.c");
    fs::write(&candidate, text("no-op", Kind::Cheat)).unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut command = rooflab(["judge".as_ref(), problem("rms-norm-silu").as_os_str(), candidate.as_os_str()]);
    rig::run(command.env("TMPDIR", &temporary), seconds(60)).expect(0);
    let left: Vec<_> = fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn flags_that_load_or_read_are_refused() {
    let _alone = rig::alone();
    let folder = tempfile::tempdir().unwrap();
    let candidate = folder.path().join("candidate.c");
    fs::write(&candidate, text("no-op", Kind::Twin)).unwrap();
    for flag in ["-fplugin=./evil.so", "-include/etc/passwd", "@/etc/passwd", "-Wl,-init,f", "-B/tmp"] {
        let mut command = rooflab(["judge".as_ref(), problem("rms-norm-silu").as_os_str(), candidate.as_os_str()]);
        let ended = rig::run(command.args(["--flag", flag, "--json"]), seconds(60));
        let judgement: Judgement = serde_json::from_str(&ended.expect(0).out).unwrap();
        let is_refused = matches!(judgement.verdict, Verdict::Refused { rule: Rule::ForbiddenBuild, .. });
        assert!(is_refused, "{flag}: {}", judgement.verdict);
    }
}

#[test]
fn what_only_the_compiler_can_see_is_seen_by_the_sanitizers() {
    // Right in every output, and no guard page is near. Volatile, or the compiler would leave it out.
    let check = |before: &str, wrong: &str, reports: &[&str]| {
        let _alone = rig::alone();
        let folder = tempfile::tempdir().unwrap();
        let candidate = folder.path().join("candidate.c");
        let naive = fs::read_to_string(root().join("problems/rms-norm-silu/baselines/naive.c")).unwrap();
        let original = naive.replace("void rms_norm_silu", "static void original");
        let text = format!(
            "{original}\n{before}\n\
             void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {{\n    \
             original(x, gate, weight, out, rows);\n    {wrong}\n}}\n"
        );
        fs::write(&candidate, text).unwrap();
        let mut command = rooflab(["verify".as_ref(), problem("rms-norm-silu").as_os_str(), candidate.as_os_str()]);
        let ended = rig::run(command.arg("--out").arg(folder.path()), seconds(180));
        let rungs = &ended.expect(0).out;
        let rung = rungs.lines().find(|line| line.contains(" 3  correct")).unwrap_or_default().to_owned();
        let is_seen = rung.starts_with("FAILED")
            && rung.contains("under the sanitizers")
            && reports.iter().any(|report| rung.contains(report));
        // A compiler without a sanitizer's runtime says so instead.
        assert!(is_seen || rung.contains("sanitizers not run"), "{rung}\n{ended}");
    };
    let table = "static volatile float table[4];\nvolatile int at = 5;";
    check(table, "table[at] = x[0];", &["out of bounds", "buffer-overflow"]);
    check("volatile int far = 40, one = 1;", "one = (one << far) & 1;", &["shift exponent"]);
    check("volatile int most = INT32_MAX;", "most = most + 1;", &["signed integer overflow"]);
}
