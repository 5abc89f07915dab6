//! A machine map's page and its text: complete, self-contained, safe against hostile maps, and calm about broken ones.

use model::{
    CoreToCore, Curve, CurvePoint, Figure, Finding, Fingerprint, Histogram, Interval, Knee, Map, Quantity, Trace,
};

fn figure(name: &str, quantity: Quantity, value: f64) -> Figure {
    let interval = Interval { low: value * 0.99, high: value * 1.01 };
    Figure { name: name.into(), quantity, value, interval, samples: 20, method: "m".into(), witness: None }
}

fn curve(name: &str, quantity: Quantity, y: fn(f64) -> f64) -> Curve {
    let xs = (12..27).map(|i| f64::from(i).exp2());
    let points = xs.map(|x| CurvePoint { x, y: y(x), interval: Interval::default() }).collect();
    Curve { name: name.into(), quantity, points, method: "m".into() }
}

fn figures() -> Vec<Figure> {
    vec![
        figure("compute.f32.one", Quantity::FlopPerSecond, 1.5e11).witnessed("gemm", 1.4e11),
        figure("compute.f32.all", Quantity::FlopPerSecond, 3e11),
        figure("compute.i8-vnni.one", Quantity::OpsPerSecond, 6e11),
        figure("memory.L1.read.one", Quantity::BytesPerSecond, 2e11),
        figure("memory.DRAM.read.one", Quantity::BytesPerSecond, 1e10),
        figure("memory.DRAM.read.all", Quantity::BytesPerSecond, 2e10),
        figure("latency.L1", Quantity::Seconds, 1.5e-9),
        figure("instruction.add-f32-avx2.latency", Quantity::Cycles, 4.0),
        figure("instruction.add-f32-avx2.throughput", Quantity::Cycles, 0.5),
        figure("floor.call", Quantity::Seconds, 1e-9),
        figure("noise.others", Quantity::Ratio, 0.01),
    ]
}

/// Something of everything that a map can hold.
fn full() -> Map {
    let seconds = |x: f64| if x < 5e4 { 1.5e-9 } else { 40e-9 };
    let knee = |curve: &str, level: &str, at: f64| Knee {
        curve: curve.into(),
        level: level.into(),
        at,
        interval: Interval { low: at * 0.9, high: at * 1.1 },
        claim: Some(2.0 * at),
        disagreement: Some("the knee is -50 % off what the system claims".into()),
    };
    Map {
        schema: 2,
        depth: "default".into(),
        fingerprint: Fingerprint {
            cpu: "Example".into(),
            cores: 2,
            platform: "x86_64-linux".into(),
            ..Fingerprint::default()
        },
        figures: figures(),
        curves: vec![
            curve("latency.huge", Quantity::Seconds, seconds),
            curve("latency.4k", Quantity::Seconds, seconds),
            curve("latency.page", Quantity::Seconds, seconds),
            curve("latency.loaded", Quantity::Seconds, |_| 1e-7),
            curve("bandwidth.read", Quantity::BytesPerSecond, |x| 1e15 / x),
            curve("bandwidth.cores", Quantity::BytesPerSecond, |_| 1e10),
        ],
        knees: vec![knee("latency.huge", "L1", 49152.0), knee("latency.page", "dTLB", 4e5)],
        core_to_core: Some(CoreToCore {
            cores: vec![0, 1],
            seconds: vec![vec![0.0, 6e-8], vec![6e-8, 0.0]],
            method: "m".into(),
        }),
        traces: vec![Trace {
            name: "clock".into(),
            quantity: Quantity::Hertz,
            points: (0..20).map(|i| [f64::from(i), 2e9]).collect(),
            method: "m".into(),
        }],
        histograms: vec![Histogram {
            name: "jitter".into(),
            quantity: Quantity::Seconds,
            bins: vec![(2e-6, 7), (4e-6, 1)],
            method: "m".into(),
        }],
        findings: vec![Finding {
            detector: "zero-fed".into(),
            figure: "compute.f32.one".into(),
            sound: false,
            text: "zeros run faster".into(),
        }],
        missing: vec!["f16: this machine has no such unit".into()],
        ..Map::default()
    }
}

#[test]
fn every_part_of_a_map_is_on_its_page() {
    let page = report::map_page(&full());
    for heading in [
        "What this machine sustains",
        "What should not be believed",
        "One core",
        "All cores",
        "Latency of a dependent load",
        "Bandwidth by size",
        "Reach of the TLBs",
        "Between cores",
        "Cores together",
        "Clock over time",
        "Interruptions",
        "Every figure",
        "What was checked",
        "Not measured",
    ] {
        assert!(page.contains(&format!(">{heading}<")), "the page lacks `{heading}`");
    }
    assert!(page.contains("gemm: 140 GFLOP/s") && page.contains("L1 48 KiB"), "a witness, and a knee in the plot");
    for outside in ["http://", "https://", " src=", " href=", "url(", "<script"] {
        assert!(!page.contains(outside), "the page holds `{outside}`");
    }
}

#[test]
fn hostile_maps_stay_text() {
    let hostile = "</style><script>alert(1)</script><svg onload=alert(1)>";
    let mut map = full();
    let text = || hostile.to_owned();
    (map.fingerprint.cpu, map.depth, map.missing[0]) = (text(), text(), text());
    map.fingerprint.features.push(text());
    map.figures[0].name = format!("compute.{hostile}.one");
    map.figures[3].name = format!("memory.{hostile}.read.one");
    (map.figures[4].method, map.knees[0].level, map.knees[0].disagreement) = (text(), text(), Some(text()));
    (map.findings[0].figure, map.findings[0].text) = (text(), text());
    let page = report::map_page(&map);
    assert!(!page.contains("<script") && !page.contains("<svg onload"), "a tag reached the page");
    assert_eq!(page.matches("</style>").count(), 1);
}

#[test]
fn broken_and_empty_maps_have_a_page() {
    let mut map = full();
    map.curves[0].points[3].y = 0.0;
    map.curves[0].points[4].y = f64::NAN;
    map.curves[4].points.truncate(1);
    map.figures[0].value = f64::INFINITY;
    map.core_to_core = Some(CoreToCore { cores: vec![0, 1, 2], seconds: vec![vec![0.0]], method: String::new() });
    map.traces[0].points = vec![[0.0, 0.0]; 2];
    for map in [map, Map::default()] {
        assert!(report::map_page(&map).contains("What this machine sustains"));
        assert!(report::terminal::map(&map).contains("clock"));
    }
}

#[test]
fn a_map_on_a_terminal() {
    insta::assert_snapshot!(report::terminal::map(&full()), @r"
    Example, 2 cores, x86_64-linux
    clock: step 0.00 ns, reading 0.00 ns

    compute  isa     one core  best window    all cores
    f32      -    150 GFLOP/s            -  300 GFLOP/s
    i8-vnni  -      600 GOP/s            -            -

    memory, one core    size  latency    read  write  past caches  copy  scale  triad  random
    L1                48 KiB  1.50 ns   200 G      -            -     -      -      -       -
    DRAM                   -        -  10.0 G      -            -     -      -      -       -

    memory, all cores  size  latency    read  write  past caches  copy  scale  triad  random
    DRAM                  -        -  20.0 G      -            -     -      -      -       -

    cycles an instruction  avx2 latency  throughput  avx512 latency  throughput
    add-f32                        4.00        0.50               -           -

    floor            time  of
    call          1.00 ns  m
    core to core  60.0 ns  a line from core to core; 60.0 ns at most

    noise, A against A       sigma or share  samples
    given to other programs           1.0 %       20
    disagreement: L1, latency.huge: the knee is -50 % off what the system claims
    disagreement: dTLB, latency.page: the knee is -50 % off what the system claims
    doubt: compute.f32.one, zero-fed: zeros run faster
    not measured: f16: this machine has no such unit
    ");
}
