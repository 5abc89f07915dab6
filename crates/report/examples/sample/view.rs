//! An invented campaign of plausible size, for looking at and for tests. No figure in it was measured.

use model::{
    BaselineSpec, Bytes, BytesPerSecond, CampaignSpec, Certificate, ComputeCeiling, Count, CountPerSecond, Digest,
    Estimate, Fingerprint, Flop, FlopPerSecond, Hertz, Interval, LatencyPoint, Map, MemoryCeiling, Noise, Rule, Rung,
    RungOutcome, Seconds, Source, Stage, Trust, Verdict, Work,
};
use report::{
    AblationView, CampaignView, CandidateView, Comparison, Effect, JumpView, ScoreRow, Versus, WinnerView,
    WorkloadView, Yield, unified_diff,
};

const NAIVE: &str = include_str!("naive.c");
const WINNER: &str = include_str!("winner.c");

/// `value` with an interval of +-`half`.
pub fn estimate(value: f64, half: f64) -> Estimate {
    Estimate { value, interval: Interval { low: value - half, high: value + half } }
}

/// The machine.
pub fn machine() -> Map {
    let spread = Interval { low: 0.0, high: 0.0 };
    let memory = |level: &str, kernel: &str, set: f64, speed: f64| MemoryCeiling {
        level: level.to_owned(),
        kernel: kernel.to_owned(),
        working_set: Bytes(set),
        best: BytesPerSecond(speed * 1.06),
        sustained: BytesPerSecond(speed),
        spread,
        method: "8 vector loads a step".to_owned(),
    };
    let compute = |name: &str, isa: &str, speed: f64| ComputeCeiling {
        name: name.to_owned(),
        isa: isa.to_owned(),
        burst: FlopPerSecond(speed * 1.08),
        sustained: FlopPerSecond(speed),
        spread,
        method: "10 chains, three operands, random normal data".to_owned(),
    };
    let levels = [
        ("L1", 24_576.0, 190e9),
        ("L2", 1_048_576.0, 92e9),
        ("LLC", 16_777_216.0, 31e9),
        ("DRAM", 536_870_912.0, 12.5e9),
    ];
    let latency = (12..30).map(|log2| {
        let ns = [1.6, 5.2, 24.0, 96.0][usize::from(log2 > 15) + usize::from(log2 > 20) + usize::from(log2 > 25)];
        LatencyPoint {
            size: Bytes(f64::from(1u32 << log2)),
            latency: Seconds(ns * 1e-9 * (1.0 + f64::from(log2) / 200.0)),
        }
    });
    Map {
        fingerprint: Fingerprint {
            cpu: "Example Server Processor @ 2.80 GHz".to_owned(),
            cores: 2,
            features: ["avx2", "avx512bf16", "avx512f", "fma"].map(str::to_owned).to_vec(),
            kernel: "6.8.0-example".to_owned(),
            platform: "linux-x86_64".to_owned(),
            probes: 1,
        },
        clock_resolution: Seconds(1e-9),
        clock_overhead: Seconds(24e-9),
        core_clock: Some(Hertz(2.79e9)),
        compute: vec![compute("f32", "avx512f", 151e9), compute("f64", "avx512f", 75.4e9)],
        exp: Some(CountPerSecond(1.9e9)),
        memory: levels
            .iter()
            .flat_map(|(level, set, speed)| {
                [memory(level, "read", *set, *speed), memory(level, "copy", *set, speed * 0.7)]
            })
            .collect(),
        latency: latency.collect(),
        noise: vec![
            Noise { kind: "compute".to_owned(), sigma: 0.011, pairs: 400 },
            Noise { kind: "memory".to_owned(), sigma: 0.034, pairs: 400 },
        ],
        missing: vec!["bf16-matrix: the probe is not built for this machine".to_owned()],
        ..Map::default()
    }
}

const LENGTHS: [f64; 4] = [128.0, 333.0, 512.0, 1024.0];
const AGAINST_STOCK: [f64; 4] = [1.31, 1.24, 1.17, 1.08];

fn work(length: f64) -> Work {
    Work {
        flop: Flop(2.0 * 2.0 * 128.0 * 16.0 * length * (length + 1.0) / 2.0),
        bytes: Bytes(4.0 * 128.0 * length * (16.0 + 16.0 + 8.0 + 8.0)),
        exp: Count(16.0 * length * (length + 1.0) / 2.0),
        ..Work::default()
    }
}

fn comparisons() -> Vec<Comparison> {
    let row = |(length, gain): (&f64, &f64)| {
        let stock = work(*length).flop.0 / (151e9 * 0.41);
        let winner = stock / gain;
        Comparison {
            workload: format!("len={length}"),
            naive: Some(Seconds(stock * 5.7)),
            stock: Some(Seconds(stock)),
            winner: Some(Seconds(winner)),
            versus_naive: Some(Versus { ln: estimate(-(5.7 * gain).ln(), 0.02), verdict: Verdict::Better }),
            versus_stock: Some(Versus { ln: estimate(-gain.ln(), 0.011), verdict: Verdict::Better }),
        }
    };
    LENGTHS.iter().zip(&AGAINST_STOCK).map(row).collect()
}

fn scores(comparisons: &[Comparison]) -> Vec<ScoreRow> {
    let mut rows = Vec::new();
    for (row, length) in comparisons.iter().zip(LENGTHS) {
        let floor = work(length).flop.0 / 151e9;
        let arms = [("naive", "naive", row.naive), ("gemm", "stock", row.stock), ("winner", "candidate", row.winner)];
        for (arm, strength, time) in arms {
            let time = time.unwrap_or_default();
            rows.push(ScoreRow {
                workload: row.workload.clone(),
                arm: arm.to_owned(),
                strength: strength.to_owned(),
                time,
                floor: Seconds(floor * 1.12),
                bound: "compute: f32 + exp".to_owned(),
                unit: "f32 vector (avx512f)".to_owned(),
                of_unit: Some(estimate(floor / time.0, 0.006)),
                of_floor: Some(estimate(floor * 1.12 / time.0, 0.007)),
            });
        }
    }
    rows
}

/// A verdict for candidate `n`, in proportions that a search shows.
fn verdict(n: u32) -> Verdict {
    match n % 23 {
        0 | 11 => Verdict::Failed { stage: Stage::Build, cause: "winner.c:41: error: expected ';'".to_owned() },
        5 => Verdict::Failed {
            stage: Stage::Invalid,
            cause: "len=128: out[17] is 0.31, the oracle says 0.28".to_owned(),
        },
        9 if n.is_multiple_of(2) => {
            Verdict::Refused { rule: Rule::OutOfBounds, detail: "wrote 64 bytes beyond out".to_owned() }
        }
        1 | 4 | 7 | 13 | 16 | 19 => Verdict::Worse,
        3 if n < 110 => Verdict::Better,
        _ => Verdict::Equivalent,
    }
}

const JUMPS: [(u32, &str, &str, f64); 6] = [
    (3, "interchange the loops over d and j (line 18)", "interchange", 2.1),
    (26, "strip-mine the loop over j by 64 (line 18)", "tile", 1.32),
    (49, "exchange expf for a polynomial in the softmax (line 31)", "exchange", 1.58),
    (72, "split the sum over d into 8 accumulators (line 22)", "accumulators", 1.27),
    (95, "fuse the scaling pass into the softmax (line 35)", "fuse", 1.19),
    (118, "unroll-and-jam by 4 the loop over i (line 15)", "unroll-and-jam", 1.12),
];

fn candidates() -> Vec<CandidateView> {
    let mut best = (0, 1.0);
    let mut all = Vec::new();
    for id in 1..=214u32 {
        let jump = JUMPS.iter().find(|jump| jump.0 == id);
        let verdict = if jump.is_some() { Verdict::Better } else { verdict(id) };
        let drift = f64::from(id * 37 % 17) / 100.0;
        let gain = match (&verdict, jump) {
            (_, Some(jump)) => jump.3,
            (Verdict::Better, None) => 1.03,
            (Verdict::Worse, _) => 0.5 + drift * 2.5,
            _ => 1.0 + (drift - 0.08) / 12.0,
        };
        let measured = verdict.is_measured();
        let (_, note, edit, _) = jump.copied().unwrap_or_else(|| {
            let (_, note, edit, gain) = JUMPS[id as usize * 7 % JUMPS.len()];
            (id, note, edit, gain)
        });
        all.push(CandidateView {
            id,
            parents: if id % 9 == 0 { vec![best.0, id / 2] } else { vec![best.0] },
            proposer: "embedded".to_owned(),
            edit: edit.to_owned(),
            note: note.to_owned(),
            effects: if measured {
                vec![Effect { workload: "len=128".to_owned(), ln: estimate(-f64::ln(gain), 0.012) }]
            } else {
                Vec::new()
            },
            verdict: (id % 31 != 30).then_some(verdict),
            skipped: (id % 31 == 30).then(|| "the same text as candidate 12".to_owned()),
            against: Some(best.0),
            cumulative: measured.then_some(best.1 * gain),
            seconds: f64::from(id) * 1.4,
            promoted: jump.is_some(),
        });
        if jump.is_some() {
            best = (id, best.1 * gain);
        }
    }
    all
}

fn lineage() -> Vec<JumpView> {
    let mut so_far = 1.0;
    let step = |(id, note, edit, gain): &(u32, &str, &str, f64)| {
        so_far *= gain;
        JumpView {
            id: *id,
            note: (*note).to_owned(),
            edit: (*edit).to_owned(),
            diff: unified_diff(
                "for (j)\n  for (d)\n    s += a;\n",
                "for (d)\n  for (j)\n    s += a;\n",
                ["parent", "child"],
            ),
            ln: Some(estimate(-gain.ln(), 0.013)),
            cumulative: Some(so_far),
        }
    };
    JUMPS.iter().map(step).collect()
}

fn ablations() -> Vec<AblationView> {
    let row = |hunk: &str, worth: f64, verdict| AblationView {
        hunk: hunk.to_owned(),
        diff: unified_diff("float s = 0;\n", "float s[8] = {0};\n", ["without", "with"]),
        ln: Some(estimate(f64::ln(worth), 0.012)),
        verdict,
    };
    let mut rows = vec![
        row("the loop over j in strips of 64", 1.41, Verdict::Worse),
        row("a polynomial in place of expf", 1.88, Verdict::Worse),
        row("eight accumulators in the dot product", 1.33, Verdict::Worse),
        row("restrict on q, k and v", 1.002, Verdict::Equivalent),
        row("the pragma before the loop over i", 0.98, Verdict::Better),
    ];
    rows.push(AblationView {
        hunk: "the declaration of the strip's buffer".to_owned(),
        diff: String::new(),
        ln: None,
        verdict: Verdict::Failed { stage: Stage::Build, cause: "undeclared".to_owned() },
    });
    rows
}

fn certificate() -> Certificate {
    let rung = |number, name: &str, outcome, detail: &str| Rung {
        number,
        name: name.to_owned(),
        outcome,
        detail: detail.to_owned(),
        judgements: Vec::new(),
    };
    let (passed, not_run) = (RungOutcome::Passed, RungOutcome::NotRun);
    Certificate {
        problem: "attention-prefill".to_owned(),
        problem_digest: Digest::of("problem"),
        candidate: Digest::of(WINNER),
        machine: machine().fingerprint,
        trust: Trust::Sealed,
        version: "0.1.0".to_owned(),
        held_out_looks: 1,
        rungs: vec![
            rung(1, "builds from clean sources", passed, "two builds, two layouts"),
            rung(2, "the intended code ran", passed, "the entry of artefact 4be1f0c9a2d7 was called 1,204 times"),
            rung(
                3,
                "correct at the edges",
                passed,
                "7 shapes, 9,420 rows; the largest error was 11 % of the tolerance",
            ),
            rung(
                4,
                "negative control",
                passed,
                "the broken twin was refused as invalid; the slowed twin was worse, 2.1 % (1.7 to 2.5)",
            ),
            rung(5, "faster, paired", passed, "better at 4 of 4 shapes against both baselines"),
            rung(6, "faster over the sweep", passed, "worst case 1.08x at len=1024"),
            rung(7, "held-out shapes and data", passed, "6 lengths from 97 to 1,391; worst 1.06x (1.04 to 1.08)"),
            rung(8, "sustained", passed, "10 s; the last second was 0.4 % slower than the first"),
            rung(9, "end to end", not_run, "the problem names no program that the code is a part of"),
            rung(10, "fresh process, seeds and build", passed, "1.19x (1.17 to 1.21), geometric mean"),
            rung(11, "the state that a merge would produce", not_run, "not a patch to a repository"),
            rung(12, "another machine", not_run, "there is one machine"),
        ],
    }
}

fn spec() -> CampaignSpec {
    let baseline = |name: &str, strength: &str| BaselineSpec {
        name: name.to_owned(),
        strength: strength.to_owned(),
        source: None,
    };
    CampaignSpec {
        problem: "attention-prefill".to_owned(),
        problem_digest: Digest::of("problem"),
        seed: 7,
        budget_seconds: Some(300.0),
        max_candidates: None,
        hypothesis: "The two passes over the scores can be one, and exp is a third of the time.".to_owned(),
        baselines: vec![baseline("naive", "naive"), baseline("gemm", "stock")],
        unconfined: false,
        version: "0.1.0".to_owned(),
    }
}

/// A campaign that found something.
pub fn sample() -> CampaignView {
    let (comparisons, candidates) = (comparisons(), candidates());
    CampaignView {
        id: "attention-prefill-20261130-1642-3f9a".to_owned(),
        spec: spec(),
        started: "2026-11-30T16:42:07Z".to_owned(),
        finished: Some("2026-11-30T16:51:40Z".to_owned()),
        ended: Some("the budget was spent".to_owned()),
        confidence: 0.95,
        machine: Some(machine()),
        workloads: LENGTHS.iter().map(|n| WorkloadView { name: format!("len={n}"), work: work(*n) }).collect(),
        outcomes: Yield::of(&candidates),
        candidates,
        lineage: lineage(),
        winner: Some(WinnerView {
            id: 118,
            source: Source { flags: vec!["-ffast-math".to_owned()], ..Source::c(WINNER) },
            base: "naive.c".to_owned(),
            diff: unified_diff(NAIVE, WINNER, ["naive.c", "winner.c"]),
        }),
        ablations: ablations(),
        scores: scores(&comparisons),
        comparisons,
        certificate: Some(certificate()),
        warnings: vec!["The last level's bandwidth spread by 14 % while the map was taken: fractions of it are rough.".to_owned()],
        raw: "Campaign attention-prefill-20261130-1642-3f9a in rooflab-out/ledger.db; `rooflab ledger export` writes it as JSON lines.".to_owned(),
    }
}

/// A campaign that found nothing.
pub fn nothing_found() -> CampaignView {
    let mut view = sample();
    for candidate in &mut view.candidates {
        candidate.promoted = false;
        candidate.cumulative = None;
        candidate.effects.clear();
        if candidate.verdict == Some(Verdict::Better) {
            candidate.verdict = Some(Verdict::Undecided);
        }
    }
    view.outcomes = Yield::of(&view.candidates);
    (view.winner, view.certificate) = (None, None);
    view.lineage.clear();
    view.ablations.clear();
    for row in &mut view.comparisons {
        (row.winner, row.versus_naive, row.versus_stock) = (None, None, None);
    }
    view.scores.retain(|row| row.strength != "candidate");
    view
}
