//! What edits do to results: each kind's first offers, and chains of them, compute what the naive source computes.

mod sources;

use search::proposers::embedded::edits::{EDITS, Offer, edit};
use sources::{ATTENTION, MATMUL, RMS_NORM, code, output};

/// Calls each function on fixed inputs, at sizes that fill blocks and that don't, and prints a few weighted sums.
const ATTENTION_MAIN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static float *filled(int64_t n) {
    float *p = aligned_alloc(64, (n * 4 + 63) / 64 * 64);
    for (int64_t i = 0; i < n; i++) p[i] = (float)((i * 7919) % 1013) / 506.5f - 1.0f;
    return p;
}
static void show(const float *p, int64_t n) {
    for (int part = 0; part < 4; part++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += p[i] * (1 + (i * 31 + part * 17) % 13);
        printf("%.3f ", sum);
    }
    printf("\n");
}
int main(void) {
    const int64_t lens[] = {1, 7, 16, 50};
    for (int t = 0; t < 4; t++) {
        const int64_t len = lens[t];
        float *q = filled(HEADS_Q * len * DIM), *k = filled(HEADS_KV * len * DIM + 5) + 0, *v = filled(HEADS_KV * len * DIM);
        float *out = filled(HEADS_Q * len * DIM), *scratch = filled(len * len);
        attention_prefill(q, k, v, out, scratch, len);
        show(out, HEADS_Q * len * DIM);
    }
}
"#;
const MATMUL_MAIN: &str = r"
int main(void) {
    for (int64_t m = 1; m < 12; m += 5) {
        float *x = filled(m * K), *w = filled(K * N), *y = filled(m * N);
        matmul_small_m(x, w, w, y, m);
        show(y, m * N);
    }
}
";
const RMS_MAIN: &str = r"
int main(void) {
    float *x = filled(3 * COLS), *gate = filled(3 * COLS), *weight = filled(COLS), *out = filled(3 * COLS);
    rms_norm_silu(x, gate, weight, out, 3);
    show(out, 3 * COLS);
}
";

fn printing() -> &'static str {
    ATTENTION_MAIN.split("int main").next().unwrap_or_default()
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|word| word.parse().unwrap_or(f64::NAN)).collect()
}

/// Whether a changed source prints the same numbers within float error.
fn same(name: &str, main: &str, text: &str, flags: &[String], expected: &[f64]) {
    let printed = output(&format!("{text}\n{main}"), flags).unwrap_or_else(|log| panic!("{name}: {log}\n{text}"));
    let found = numbers(&printed);
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * b.abs().max(100.0);
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(close),
        "{name}: {found:?} instead of {expected:?}\n{text}"
    );
}

/// Applies steps one after the other: kind, and how its words begin.
fn chain(text: &str, steps: &[(&str, &str)]) -> (String, Vec<String>) {
    let (mut text, mut flags) = (text.to_owned(), Vec::new());
    for (kind, words) in steps {
        let offers = (edit(kind).expect(kind).offers)(&code(&text, &flags));
        let known: Vec<String> = offers.iter().map(Offer::note).collect();
        let offer = offers.into_iter().find(|offer| offer.what.starts_with(words));
        let offer = offer.unwrap_or_else(|| panic!("no `{words}` among {known:?}"));
        (text, flags) = (offer.text, offer.flags);
    }
    (text, flags)
}

/// The kinds whose offers are right wherever they find a place; the others bet on what only the judge can see.
const ALWAYS_RIGHT: &[&str] = &[
    "accumulators",
    "align",
    "expand-reduction",
    "fast-exp",
    "hoist",
    "prefetch",
    "reciprocal",
    "register-tile",
    "restrict",
    "row-block",
    "select",
    "simd",
    "stream",
    "strip-mine",
    "unroll",
    "unroll-and-jam",
];

#[test]
fn first_offers_compute_the_same() {
    if !sources::has_compiler("first_offers_compute_the_same") {
        return;
    }
    let with_printing = |main: &str| format!("{}{main}", printing());
    let check = |name: &str, text: &str, main: &str| {
        let expected = numbers(&output(&format!("{text}\n{main}"), &[]).unwrap());
        assert!(expected.iter().all(|x| x.is_finite()));
        for edit in EDITS.iter().filter(|edit| ALWAYS_RIGHT.contains(&edit.kind)) {
            for offer in (edit.offers)(&code(text, &[])).into_iter().take(2) {
                same(&format!("{name}: {}", offer.note()), main, &offer.text, &offer.flags, &expected);
            }
        }
    };
    check("attention", ATTENTION, ATTENTION_MAIN);
    check("matmul", MATMUL, &with_printing(MATMUL_MAIN));
    check("rms-norm", RMS_NORM, &with_printing(RMS_MAIN));
}

#[test]
fn chains_compute_the_same() {
    if !sources::has_compiler("chains_compute_the_same") {
        return;
    }
    let run = |source: &str, main: &str, steps: &[(&str, &str)]| {
        let expected = numbers(&output(&format!("{source}\n{main}"), &[]).unwrap());
        let (text, flags) = chain(source, steps);
        same(&format!("{steps:?}"), main, &text, &flags, &expected);
    };
    let matmul = format!("{}{MATMUL_MAIN}", printing());
    // 192 columns: a strip of 128 leaves 64 for the statements as they were.
    run(MATMUL, &matmul, &[("register-tile", "s 2i x 128j")]);
    let rms = format!("{}{RMS_MAIN}", printing());
    run(RMS_NORM, &rms, &[("fuse", ""), ("fast-exp", "degree"), ("stream", "out"), ("accumulators", "sum in 4 v")]);
    let check = |steps: &[(&str, &str)]| run(ATTENTION, ATTENTION_MAIN, steps);
    check(&[
        ("row-block", "i by 16"),
        ("register-tile", "s 8j x 16ir"),
        ("register-tile", "acc 8ir x 16d"),
        ("select", "most"),
        ("fast-exp", "degree 7"),
    ]);
    check(&[("row-block", "i by 32 apart"), ("register-tile", "s 4j x 32ir"), ("register-tile", "acc 4ir x 32d")]);
    check(&[("expand-reduction", "acc"), ("accumulators", "s in 2 vectors"), ("unroll-and-jam", "j by 2")]);
    check(&[("register-tile", "acc 32d"), ("accumulators", "s in 1 vectors"), ("unroll-and-jam", "j by 4")]);
    check(&[
        ("row-block", "i by 16 apart"),
        ("accumulators", "s in 2 vectors"),
        ("unroll-and-jam", "ir by 4"),
        ("register-tile", "acc 4"),
        ("tunable", "BLOCK_I = 32"),
    ]);
}
