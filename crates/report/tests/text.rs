//! Text for terminals, as it looks.

#[path = "../examples/sample/view.rs"]
#[expect(dead_code, reason = "the pages' tests use the rest")]
mod view;

use model::{Digest, Judgement, Overhead, Seconds, ShapeJudgement, Trust, Verdict, Workload};
use report::{LedgerRow, terminal};
use view::{estimate, machine, sample};

fn judgement() -> Judgement {
    let shape = |name: &str, verdict, ln| ShapeJudgement {
        workload: Workload { name: name.to_owned(), axes: [("len".to_owned(), 128)].into() },
        verdict,
        ln,
        e: ln.map(|_| 812.0),
        p: None,
        units: Vec::new(),
        pairs: if ln.is_some() { 480 } else { 0 },
        candidate: ln.map(|_| Seconds(0.000_834)),
        against: ln.map(|_| Seconds(0.001_09)),
        checks: 2048,
        worst_error: 0.11,
    };
    Judgement {
        candidate: Digest::of("b"),
        against: Digest::of("a"),
        verdict: Verdict::Better,
        shapes: vec![
            shape("len=128", Verdict::Better, Some(estimate(-0.27, 0.01))),
            shape("len=1024", Verdict::Undecided, None),
        ],
        trust: Trust::Sealed,
        artefact: None,
        log: "b.c:3: \u{1b}[31mwarning\u{1b}[0m: unused variable\n".to_owned(),
        remarks: vec!["len=1024 was not reached: the cap ran out\n(raise it with --cap)".to_owned()],
        overhead: Overhead { build: Seconds(0.31), total: Seconds(1.9), ..Overhead::default() },
    }
}

#[test]
fn a_judgement() {
    insta::assert_snapshot!(terminal::judgement(&judgement()), @r"
    better: 1.31x, geometric mean of 1 workload
    workload  verdict    speed-up  interval      candidate  against  pairs  evidence  error
    len=128   better        1.31x  1.30 to 1.32     834 us  1.09 ms    480  e 812      11 %
    len=1024  undecided         -  -                     -        -      0  -          11 %
    note: len=1024 was not reached: the cap ran out (raise it with --cap)
    compiler:
      b.c:3: �[31mwarning�[0m: unused variable
    took 1.90 s: build 310 ms, runners 0.00 ns, draw 0.00 ns, calls 0.00 ns, check 0.00 ns
    ");
}

#[test]
fn a_refusal_is_one_line_and_its_evidence() {
    let mut refused = judgement();
    refused.verdict =
        Verdict::Refused { rule: model::Rule::SystemCall, detail: "getpid\u{7}\nafter the seal".to_owned() };
    (refused.shapes, refused.remarks, refused.log) = (Vec::new(), Vec::new(), String::new());
    insta::assert_snapshot!(terminal::judgement(&refused), @r"
    refused (system-call): getpid�
    after the seal
    took 1.90 s: build 310 ms, runners 0.00 ns, draw 0.00 ns, calls 0.00 ns, check 0.00 ns
    ");
}

#[test]
fn a_summary() {
    insta::assert_snapshot!(terminal::summary(&sample()), @r"
    The winner is 1.20x as fast as the stock baseline (geometric mean of 4 shapes, least at len=1024: 1.08x) and 6.82x as fast as the naive one.
    The certificate holds: 9 rungs passed, none failed, 3 not run.
    attempted 208 / invalid 27 / cheated 4 / noise 117 / loss 54 / win 6 (6 more skipped as duplicates)

    workload    naive    stock   winner  vs stock  interval              vs naive  interval
    len=128   6.23 ms  1.09 ms   834 us     1.31x  1.30 to 1.32  faster     7.47x  7.32 to 7.62  faster
    len=333   41.9 ms  7.36 ms  5.93 ms     1.24x  1.23 to 1.25  faster     7.07x  6.93 to 7.21  faster
    len=512   99.1 ms  17.4 ms  14.9 ms     1.17x  1.16 to 1.18  faster     6.67x  6.54 to 6.80  faster
    len=1024   396 ms  69.4 ms  64.3 ms     1.08x  1.07 to 1.09  faster     6.16x  6.03 to 6.28  faster
    warning: The last level's bandwidth spread by 14 % while the map was taken: fractions of it are rough.
    ");
}

#[test]
fn a_map() {
    let mut map = machine();
    map.latency.truncate(3);
    insta::assert_snapshot!(terminal::map(&map), @r"
    Example Server Processor @ 2.80 GHz, 2 cores, linux-x86_64
    clock: step 1.00 ns, reading 24.0 ns, core clock 2.79 GHz

    compute  isa          one core   best window  all cores
    f32      avx512f   151 GFLOP/s   163 GFLOP/s          -
    f64      avx512f  75.4 GFLOP/s  81.4 GFLOP/s          -
    exp      -          1.90 GOP/s             -          -

    memory, one core  size  latency    read  write  past caches    copy  scale  triad  random
    L1                   -        -   190 G      -            -   133 G      -      -       -
    L2                   -        -  92.0 G      -            -  64.4 G      -      -       -
    LLC                  -        -  31.0 G      -            -  21.7 G      -      -       -
    DRAM                 -        -  12.5 G      -            -  8.75 G      -      -       -

    noise, A against A  sigma or share  samples
    compute                      1.1 %      400
    memory                       3.4 %      400
    not measured: bf16-matrix: the probe is not built for this machine
    ");
}

#[test]
fn scores() {
    insta::assert_snapshot!(terminal::score(&sample().scores[..3]), @r"
    workload  arm     strength      time   floor  of the floor        of the unit         unit                  bound
    len=128   naive   naive      6.23 ms  502 us  8.1 % (7.4 to 8.8)  7.2 % (6.6 to 7.8)  f32 vector (avx512f)  compute: f32 + exp
    len=128   gemm    stock      1.09 ms  502 us  46 % (45 to 47)     41 % (40 to 42)     f32 vector (avx512f)  compute: f32 + exp
    len=128   winner  candidate   834 us  502 us  60 % (59 to 61)     54 % (53 to 54)     f32 vector (avx512f)  compute: f32 + exp
    ");
}

#[test]
fn a_ledger() {
    let row = |id: &str, kind: &str, campaign: Option<&str>, note: &str| LedgerRow {
        id: id.to_owned(),
        at: "2026-11-30T16:42:07Z".to_owned(),
        kind: kind.to_owned(),
        campaign: campaign.map(str::to_owned),
        note: note.to_owned(),
    };
    let rows = [
        row("4be1f0c9a2d7", "map", None, "Example Server Processor"),
        row("a07712fe01b3", "event.judged", Some("attention-prefill-20261130-1642-3f9a"), "candidate 3: better"),
    ];
    insta::assert_snapshot!(terminal::ledger(&rows), @r"
    id            at                    kind          campaign
    4be1f0c9a2d7  2026-11-30T16:42:07Z  map           -                                     Example Server Processor
    a07712fe01b3  2026-11-30T16:42:07Z  event.judged  attention-prefill-20261130-1642-3f9a  candidate 3: better
    ");
}

#[test]
fn markdown() {
    let mut view = sample();
    view.scores.truncate(1);
    view.comparisons.truncate(2);
    insta::assert_snapshot!(report::markdown(&view), @r"
    # attention-prefill: attention-prefill-20261130-1642-3f9a

    The winner is 1.27x as fast as the stock baseline (geometric mean of 2 shapes, least at len=333: 1.24x) and 7.26x as fast as the naive one.

    The certificate holds: 9 rungs passed, none failed, 3 not run.

    attempted 208 / invalid 27 / cheated 4 / noise 117 / loss 54 / win 6 (6 more skipped as duplicates)

    | workload | naive | stock | winner | against stock | against naive |
    |---|---|---|---|---|---|
    | len=128 | 6.23 ms | 1.09 ms | 834 us | 1.31x (1.30 to 1.32) better | 7.47x (7.32 to 7.62) better |
    | len=333 | 41.9 ms | 7.36 ms | 5.93 ms | 1.24x (1.23 to 1.25) better | 7.07x (6.93 to 7.21) better |

    > The last level's bandwidth spread by 14 % while the map was taken: fractions of it are rough.

    | workload | arm | time | floor | of the unit | of the floor | bound |
    |---|---|---|---|---|---|---|
    | len=128 | naive (naive) | 6.23 ms | 502 us | 7.2 % (6.6 to 7.8) of f32 vector (avx512f) | 8.1 % (7.4 to 8.8) | compute: f32 + exp |
    ");
}

#[test]
fn a_certificate_as_markdown() {
    let mut certificate = sample().certificate.unwrap();
    certificate.rungs.truncate(2);
    insta::assert_snapshot!(report::certificate_markdown(&certificate), @r"
    # Certificate: attention-prefill

    The certificate holds: 2 rungs passed, none failed, 0 not run.

    - candidate `16fa131849d3`
    - problem `cec02cdadf3e`
    - machine: Example Server Processor @ 2.80 GHz, 2 cores, 6.8.0-example
    - trust: sealed: native code that can only compute
    - held-out data looked at 1 time
    - rooflab 0.1.0

    | rung | | outcome | |
    |---|---|---|---|
    | 1 | builds from clean sources | passed | two builds, two layouts |
    | 2 | the intended code ran | passed | the entry of artefact 4be1f0c9a2d7 was called 1,204 times |
    ");
}
