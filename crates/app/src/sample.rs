//! Judgements, sources, campaigns and a machine for tests.

use model::{
    BaselineSpec, Bytes, BytesPerSecond, CampaignSpec, CandidateId, Certificate, ComputeCeiling, CountPerSecond,
    Digest, Estimate, Event, Fingerprint, FlopPerSecond, Interval, Judgement, Map, MemoryCeiling, Overhead, Proposal,
    Rung, RungOutcome, Seconds, ShapeJudgement, Source, Trust, Verdict, Workload,
};

/// A judgement with a narrow interval around each effect.
pub fn judgement(verdict: Verdict, effects: &[(&str, f64)]) -> Judgement {
    let shapes = effects.iter().map(|(name, ln)| shape(name, *ln, verdict.clone())).collect();
    Judgement {
        candidate: Digest::of("candidate"),
        against: Digest::of("against"),
        verdict,
        shapes,
        trust: Trust::Sealed,
        artefact: None,
        log: String::new(),
        remarks: Vec::new(),
        overhead: Overhead { total: Seconds(2.0), ..Overhead::default() },
    }
}

fn shape(name: &str, ln: f64, verdict: Verdict) -> ShapeJudgement {
    ShapeJudgement {
        workload: Workload { name: name.to_owned(), axes: std::collections::BTreeMap::new() },
        verdict,
        ln: Some(Estimate { value: ln, interval: Interval { low: ln - 0.02, high: ln + 0.02 } }),
        e: None,
        p: None,
        units: vec![ln; 8],
        pairs: 40,
        candidate: Some(Seconds(0.01 * ln.exp())),
        against: Some(Seconds(0.01)),
        checks: 1000,
        worst_error: 0.1,
    }
}

/// A source that differs by `text`.
pub fn source(text: &str) -> Source {
    Source::c(format!("{text}\nvoid f(void) {{}}\n"))
}

/// A finished campaign: a naive baseline (candidate 0), one loser, one winner.
pub fn campaign() -> Vec<Event> {
    let proposed = |id: u32, text: &str| Event::Proposed {
        id: CandidateId(id),
        proposal: Proposal {
            source: source(text),
            parents: vec![CandidateId(0)],
            proposer: "embedded".to_owned(),
            note: format!("made {text}"),
            edit: "unroll".to_owned(),
        },
    };
    let judged = |id: u32, verdict: Verdict, ln: f64| Event::Judged {
        id: CandidateId(id),
        against: CandidateId(0),
        judgement: judgement(verdict, &[("len=128", ln)]),
    };
    let compared = |name: &str, ln: f64| Event::Compared {
        name: name.to_owned(),
        judgement: judgement(Verdict::Better, &[("len=128", ln), ("len=1024", ln)]),
    };
    vec![
        Event::Started { spec: spec() },
        Event::NoiseMeasured { judgement: judgement(Verdict::Equivalent, &[("len=128", 0.0)]) },
        compared("naive/ceiling", 3.0),
        compared("start/stock", 1.0),
        proposed(1, "int loser;"),
        judged(1, Verdict::Worse, 0.3),
        proposed(2, "int winner;"),
        judged(2, Verdict::Better, -0.5),
        Event::Promoted { id: CandidateId(2), judgement: judgement(Verdict::Better, &[("len=128", -0.5)]) },
        Event::SearchEnded { why: "budget spent".into() },
        compared("winner/naive", -0.5),
        compared("winner/stock", 0.5),
        Event::Finished,
    ]
}

/// How that campaign began.
pub fn spec() -> CampaignSpec {
    CampaignSpec {
        problem: "norm".into(),
        problem_digest: Digest::of("p"),
        seed: 1,
        budget_seconds: Some(60.0),
        max_candidates: None,
        hypothesis: String::new(),
        baselines: vec![
            BaselineSpec { name: "naive".into(), strength: "naive".into(), source: Some(source("int naive;")) },
            BaselineSpec { name: "stock".into(), strength: "stock".into(), source: None },
        ],
        unconfined: false,
        version: "0.1.0".into(),
    }
}

/// A certificate with one rung.
pub fn certificate(source: &Source, looks: u32) -> Certificate {
    Certificate {
        problem: "norm".into(),
        problem_digest: Digest::of("p"),
        candidate: source.digest(),
        machine: map().fingerprint,
        trust: Trust::Sealed,
        version: "0.1.0".into(),
        held_out_looks: looks,
        rungs: vec![Rung {
            number: 1,
            name: "builds".into(),
            outcome: RungOutcome::Passed,
            detail: "two builds are equal".into(),
            judgements: Vec::new(),
        }],
    }
}

/// A machine of round numbers: 100 GFLOP/s, 10 GB/s, 1 G exp/s.
pub fn map() -> Map {
    let spread = Interval { low: 0.9e11, high: 1.1e11 };
    Map {
        fingerprint: Fingerprint {
            cpu: "Sample".into(),
            cores: 2,
            features: vec!["avx2".into()],
            kernel: "6.1".into(),
            platform: "linux-x86_64".into(),
            probes: 1,
        },
        clock_resolution: Seconds(1e-9),
        clock_overhead: Seconds(2e-8),
        core_clock: None,
        compute: vec![ComputeCeiling {
            name: "f32".into(),
            isa: "avx2".into(),
            burst: FlopPerSecond(1.1e11),
            sustained: FlopPerSecond(1e11),
            spread,
            method: String::new(),
        }],
        exp: Some(CountPerSecond(1e9)),
        memory: vec![MemoryCeiling {
            level: "DRAM".into(),
            kernel: "read".into(),
            working_set: Bytes(1e9),
            best: BytesPerSecond(1.1e10),
            sustained: BytesPerSecond(1e10),
            spread,
            method: String::new(),
        }],
        latency: Vec::new(),
        ..Map::default()
    }
}
