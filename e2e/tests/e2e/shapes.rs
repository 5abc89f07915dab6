//! Cheats that only another problem or another shape shows: those that know the declared shapes, and those that need
//! batches of several calls over weights.

use crate::door::Door;
use crate::rig::{self, problem, root, seconds};
use model::{Arm, Fidelity, Job, Judgement, Seconds, Slice, Source};
use serde_json::json;
use std::fs;

/// Right at the sizes that problem.toml declares for the search; elsewhere its last row is a copy of the one before.
const KNOWS: &str = r"
#include <math.h>
#include <string.h>
void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    int known = rows == 16 || rows == 128 || rows == 777 || rows == 2048;
    for (int64_t r = 0; r < rows; r++) {
        if (!known && r + 1 == rows) {
            if (r) memcpy(out + r * COLS, out + (r - 1) * COLS, COLS * sizeof *out);
            else memset(out, 0, COLS * sizeof *out);
            return;
        }
        const float *xs = x + r * COLS, *gates = gate + r * COLS;
        float parts[16] = {0}, sum = 0;
        for (int c = 0; c < COLS; c += 16)
            for (int j = 0; j < 16; j++) parts[j] += xs[c + j] * xs[c + j];
        for (int j = 0; j < 16; j++) sum += parts[j];
        float inverse = 1.0f / sqrtf(sum / COLS + 1e-6f);
        for (int c = 0; c < COLS; c++)
            out[r * COLS + c] = gates[c] / (1.0f + expf(-gates[c])) * (xs[c] * inverse * weight[c]);
    }
}
";

#[test]
fn declared_shapes_are_not_all() {
    let _alone = rig::alone();
    let mut door = Door::open(&problem("rms-norm-silu"));
    let mut check = |text: &str, slice: Slice, passes: bool| {
        let job = Job {
            candidate: Arm::Source(Source::c(text)),
            against: Arm::Baseline("two-pass".to_owned()),
            slice: slice.clone(),
            fidelity: Fidelity::Gate,
            margin: 0.005,
            cap: Seconds(120.0),
        };
        let mut answer = door.ask(&json!({"request": "judge", "job": job}));
        let judgement: Judgement = serde_json::from_value(answer["judgement"].take()).expect("a judgement");
        assert_eq!(judgement.verdict.is_measured(), passes, "{slice:?}: {}", judgement.verdict);
    };
    check(KNOWS, Slice::Named(vec!["rows=16".to_owned()]), true);
    check(KNOWS, Slice::Edges, false);
    check(KNOWS, Slice::HeldOut { n: 2 }, false);
    let honest = KNOWS.replace("int known = ", "int known = 1 || ");
    check(&honest, Slice::Edges, true);
    check(&honest, Slice::HeldOut { n: 2 }, true);
}

#[test]
fn calls_of_a_batch_are_not_computed_together() {
    let _alone = rig::alone();
    // A megabyte of weights: a call takes some tens of microseconds, so that a batch would hold several.
    let (_folder, to) = rig::variant("matmul-small-m", &[("k = 1024", "k = 256"), ("n = 3072", "n = 1024")]);
    let candidate = |kind: &str| root().join(format!("crates/zoo/candidates/call-ahead.{kind}.c"));
    let mut judge = rig::rooflab([std::path::PathBuf::from("judge"), to, candidate("cheat")]);
    judge.arg("--against").arg(candidate("twin")).args(["--workloads", "m=1", "--cap", "20s", "--json"]);
    let ended = rig::run(&mut judge, seconds(120));
    ended.expect(0);
    let judgement: Judgement = serde_json::from_str(&ended.out).expect("a judgement");
    let gain = judgement.speedup().unwrap_or(1.0);
    assert!(gain < 1.25, "{gain} times as fast: {}", judgement.verdict);
}

#[test]
fn the_list_of_cheats_names_candidates_that_exist() {
    let text = fs::read_to_string(root().join("docs/cheats.md")).expect("docs/cheats.md");
    let (zoo, hostile) = (root().join("crates/zoo/candidates"), root().join("e2e/foreign/hostile"));
    let is_candidate =
        |name: &str| zoo.join(format!("{name}.cheat.c")).is_file() || hostile.join(format!("{name}.py")).is_file();
    let is_name = |word: &str| {
        word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') && word.contains('-')
    };
    let named = text.split('`').skip(1).step_by(2).filter(|word| is_name(word));
    let missing: Vec<&str> = named.filter(|name| !is_candidate(name)).collect();
    assert!(missing.is_empty(), "not in the zoo: {missing:?}");
    let rows = text.lines().filter(|line| line.starts_with("| ") && line[2..3].chars().all(|c| c.is_ascii_digit()));
    assert_eq!(rows.count(), 32, "the published list has 32 rows");
}
