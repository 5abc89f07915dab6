//! A machine map as a page of its own.

use super::{page, rendered};
use crate::figures::{binary, counted};
use crate::plot;
use askama::Template;
use model::{Bytes, Figure, Knee, Map};

#[derive(Template)]
#[template(path = "machine.html")]
struct Machine<'a> {
    title: &'static str,
    map: &'a Map,
    cores: String,
    features: String,
    depth: &'a str,
    doubts: Vec<[String; 3]>,
    one: String,
    all: String,
    latency: String,
    knees: Vec<[String; 5]>,
    bandwidth: String,
    pages: String,
    by_cores: Vec<[String; 2]>,
    under_load: Vec<[String; 2]>,
    heat: String,
    clock: String,
    jitter: Vec<[String; 2]>,
    figures: Vec<[String; 6]>,
    findings: Vec<[String; 4]>,
}

/// A map as one self-contained page.
pub fn map_page(map: &Map) -> String {
    let doubts = map.findings.iter().filter(|finding| !finding.sound);
    let jitter = map.histograms.iter().flat_map(|histogram| &histogram.bins).filter(|bin| bin.1 > 0);
    let content = rendered(&Machine {
        title: "What this machine sustains",
        cores: counted(map.fingerprint.cores as usize, "core"),
        features: map.fingerprint.features.join(" "),
        depth: if map.depth.is_empty() { "before depths were written down" } else { &map.depth },
        doubts: doubts.map(|f| [f.figure.clone(), f.detector.clone(), f.text.clone()]).collect(),
        one: plot::ceilings(map, "one"),
        all: plot::ceilings(map, "all"),
        latency: match plot::latency_curves(map) {
            curves if curves.is_empty() => plot::latency(map),
            curves => curves,
        },
        knees: map.knees.iter().map(knee).chain(unseen(map)).collect(),
        bandwidth: plot::bandwidth_curves(map),
        pages: plot::page_curve(map),
        by_cores: points(map, "bandwidth.cores", |x| counted(x as usize, "core")),
        under_load: points(map, "latency.loaded", |x| model::BytesPerSecond(x).to_string()),
        heat: plot::heat(map),
        clock: plot::clock(map),
        jitter: jitter.map(|(bound, n)| [model::Seconds(*bound).to_string(), n.to_string()]).collect(),
        figures: map.every_figure().iter().map(figure).collect(),
        findings: map
            .findings
            .iter()
            .map(|f| {
                let word = if f.sound { "sound" } else { "doubtful" };
                [f.figure.clone(), f.detector.clone(), word.to_owned(), f.text.clone()]
            })
            .collect(),
        map,
    });
    page(&format!("Machine map: {}", map.fingerprint.cpu), &content)
}

/// A short curve as rows.
fn points(map: &Map, curve: &str, x: fn(f64) -> String) -> Vec<[String; 2]> {
    let curve = map.curve(curve);
    let points = curve.iter().flat_map(|curve| curve.points.iter().map(|point| (curve.quantity, point)));
    points.map(|(quantity, point)| [x(point.x), quantity.show(point.y)]).collect()
}

/// Capacities that no knee shows, with why.
fn unseen(map: &Map) -> impl Iterator<Item = [String; 5]> + '_ {
    let lines = map.missing.iter().filter_map(|line| line.strip_prefix("capacity of ")?.split_once(": "));
    lines.map(|(level, why)| {
        let none = || "–".to_owned();
        [level.to_owned(), "not seen".to_owned(), none(), none(), why.to_owned()]
    })
}

fn knee(knee: &Knee) -> [String; 5] {
    let size = |bytes: f64| binary(Bytes(bytes));
    let name = if knee.level.is_empty() { "unnamed" } else { &knee.level };
    [
        format!("{name} ({})", knee.curve),
        size(knee.at),
        format!("{} to {}", size(knee.interval.low), size(knee.interval.high)),
        knee.claim.map_or("–".to_owned(), size),
        knee.disagreement.clone().unwrap_or_default(),
    ]
}

fn figure(figure: &Figure) -> [String; 6] {
    let show = |value: f64| figure.quantity.show(value);
    let witness = figure.witness.as_ref().map(|witness| format!("{}: {}", witness.name, show(witness.value)));
    let interval = if figure.interval.low == figure.interval.high {
        "–".to_owned()
    } else {
        format!("{} to {}", show(figure.interval.low), show(figure.interval.high))
    };
    let samples = if figure.samples == 0 { "–".to_owned() } else { figure.samples.to_string() };
    [figure.name.clone(), figure.show(), interval, samples, witness.unwrap_or_default(), figure.method.clone()]
}
