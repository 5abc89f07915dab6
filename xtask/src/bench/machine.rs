//! `map`: our ceilings against those of others, in alternation: a quick map, every peer, a quick map, and so on. Each
//! figure is a ratio of a round: the mean of the maps before and after the peers, over what the peers said, so that a
//! clock that drifts moves both. Raw data in `rounds.jsonl`.

use super::peers::{Claim, Peers, claim};
use super::{Entry, Finding, Record, Rig};
use crate::workspace::{output, root};
use anyhow::{Context, Result};
use model::Map;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::process::Command;

/// This bench.
pub const ENTRY: Entry = Entry {
    name: "map",
    asks: "our ceilings over the best peer's of the same round, our latencies over lmbench's chain, knees over the claims",
    runs: RUNS,
    measure,
};

/// The range of six rounds holds their median with 97 %, whatever the distribution; that of five falls short of 95.
const RUNS: usize = 6;
/// Least share of the best peer that a ceiling has to reach.
const CEILING: f64 = 0.98;
/// The same of the matrix unit against a library's product: the product loads and stores besides.
const MATRIX: f64 = 1.0;
/// What a latency may differ by.
const LATENCY: f64 = 0.03;
/// What a knee may differ by from the size that the system claims.
const KNEE: f64 = 0.1;

/// Figures of a map by name.
type Figures = BTreeMap<String, f64>;

/// What one round found: the maps before and after the peers, and what these said.
#[derive(serde::Serialize)]
struct Round {
    ours: [Figures; 2],
    claims: Vec<Claim>,
}

impl Round {
    /// A figure in this round: the mean (of logarithms) of both maps.
    fn of(&self, figure: &str) -> Option<f64> {
        let [before, after] = self.ours.each_ref().map(|figures| figures.get(figure).copied());
        Some((before? * after?).sqrt())
    }
}

fn measure(rig: &Rig, record: &mut Record) -> Result<Finding> {
    let peers = Peers::build()?;
    let mut raw = File::create(record.folder().join("rounds.jsonl"))?;
    let mut rounds = Vec::new();
    let mut before = quick_map(rig)?;
    for number in 1..=rig.runs() {
        let mut claims = peers.claims(&before)?;
        let after = quick_map(rig)?;
        claims.extend(claimed(&after));
        let round = Round { ours: [figures(&before), figures(&after)], claims };
        writeln!(raw, "{}", serde_json::to_string(&round)?)?;
        eprintln!("round {number} of {}", rig.runs());
        rounds.push(round);
        before = after;
    }
    Ok(judge(&rounds, &peers.absent))
}

fn quick_map(rig: &Rig) -> Result<Map> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(rig.binary());
    command.args(["map", "--quick", "--fresh", "--json", "--out"]).arg(folder.path()).current_dir(root());
    serde_json::from_str(&output(&mut command)?).context("the map's JSON")
}

fn figures(map: &Map) -> Figures {
    map.every_figure().into_iter().map(|figure| (figure.name, figure.value)).collect()
}

/// What the system claims that the first two levels hold, beside the knees and the sizes at which half of the loads miss.
fn claimed(map: &Map) -> Vec<Claim> {
    let levels = ["L1", "L2"].into_iter().filter_map(|level| {
        let name = format!("capacity.{level}");
        let claimed = map.figure(&name)?.witness?.value;
        Some([name.clone(), format!("{name}.half")].map(|name| claim("the system's claim", &name, claimed)))
    });
    levels.flatten().collect()
}

/// Ours over the peers', a figure a row.
fn judge(rounds: &[Round], absent: &[&str]) -> Finding {
    let mut figures: Vec<&String> =
        rounds.iter().flat_map(|round| round.claims.iter().map(|claim| &claim.figure)).collect();
    figures.sort_unstable();
    figures.dedup();
    let mut rows = Vec::new();
    let mut missed = Vec::new();
    for figure in figures {
        let ratios: Vec<(f64, String)> = rounds.iter().filter_map(|round| ratio(round, figure)).collect();
        let Some((middle, low, high)) = middle(ratios.iter().map(|ratio| ratio.0).collect()) else { continue };
        let mut names: Vec<&str> = ratios.iter().map(|ratio| ratio.1.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let goal = meets(figure, middle);
        let word = goal.map_or("", |met| if met { ": met" } else { ": missed" });
        rows.push((figure.clone(), format!("{middle:.3} ({low:.3} to {high:.3}) of {}{word}", names.join(" or "))));
        missed.extend((goal == Some(false)).then_some(figure.as_str()));
    }
    let judged = rows.len();
    if !absent.is_empty() {
        rows.push(("not installed".to_owned(), absent.join(", ")));
    }
    if !missed.is_empty() {
        rows.push(("missed".to_owned(), missed.join(", ")));
    }
    let target = "every ceiling at least 0.98 of the best peer, the matrix unit at least a library's product, every \
                  latency within 3 %, every knee within 10 % (medians)";
    Finding { met: missed.is_empty() && judged > 3, rows, milliseconds: Vec::new(), target: target.to_owned() }
}

/// Whether a ratio meets the goal of its figure; none where there is no goal.
fn meets(figure: &str, ratio: f64) -> Option<bool> {
    match figure.split('.').next() {
        Some("latency") => Some((ratio - 1.0).abs() <= LATENCY),
        // Half of the way is what a level holds where the machine scatters large pages; the knee has the goal.
        Some("capacity") if figure.rsplit('.').next() == Some("half") => None,
        Some("capacity") => Some((ratio - 1.0).abs() <= KNEE),
        _ if figure.contains("-matrix") => Some(ratio >= MATRIX),
        _ => Some(ratio >= CEILING),
    }
}

fn is_latency(figure: &str) -> bool {
    figure.starts_with("latency.")
}

/// Ours over the best peer's in one round, and the peer's name.
fn ratio(round: &Round, figure: &str) -> Option<(f64, String)> {
    // STREAM's copies store as the compiler likes; the fastest of our forms answers it.
    let stream = figure.strip_suffix(".one").or_else(|| figure.strip_suffix(".all"));
    let forms = ["", "-stream", "-string"].map(|way| match stream {
        Some(stem) => format!("{stem}{way}{}", &figure[stem.len()..]),
        None => figure.to_owned(),
    });
    let ours = forms.iter().filter_map(|name| round.of(name));
    let ours = ours.reduce(f64::max)?;
    let claims = round.claims.iter().filter(|claim| claim.figure == figure);
    let better = |a: &&Claim, b: &&Claim| {
        let order = a.value.total_cmp(&b.value);
        if is_latency(figure) { order.reverse() } else { order }
    };
    let best = claims.max_by(better)?;
    Some((ours / best.value, best.peer.clone()))
}

/// Median, and the whole range.
fn middle(mut values: Vec<f64>) -> Option<(f64, f64, f64)> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let middle = values.get(n / 2)?;
    let median = if n.is_multiple_of(2) { f64::midpoint(*middle, values[n / 2 - 1]) } else { *middle };
    Some((median, values[0], values[n - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(ours: &[(&str, f64)], claims: &[(&str, &str, f64)]) -> Round {
        let claim = |(peer, figure, value): &(&str, &str, f64)| Claim {
            peer: (*peer).to_owned(),
            figure: (*figure).to_owned(),
            value: *value,
        };
        let ours: Figures = ours.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Round { ours: [ours.clone(), ours], claims: claims.iter().map(claim).collect() }
    }

    #[test]
    fn the_best_peer_counts() {
        let ours = [("memory.DRAM.copy.one", 10.0), ("memory.DRAM.copy-stream.one", 12.0), ("latency.L1", 2.0)];
        let claims =
            [("a", "memory.DRAM.copy.one", 8.0), ("b", "memory.DRAM.copy.one", 12.1), ("c", "latency.L1", 1.9)];
        let finding = judge(&[round(&ours, &claims)], &["mbw"]);
        assert!(!finding.met);
        let row = |name: &str| finding.rows.iter().find(|row| row.0 == name).map(|row| row.1.as_str());
        assert_eq!(row("memory.DRAM.copy.one"), Some("0.992 (0.992 to 0.992) of b: met"));
        assert_eq!(row("missed"), Some("latency.L1"));
        assert_eq!(row("not installed"), Some("mbw"));
    }

    #[test]
    fn knees_are_held_against_claims_both_ways() {
        for (ours, met) in [(1.05, true), (0.92, true), (1.2, false), (0.6, false)] {
            let finding = judge(&[round(&[("capacity.L2", ours)], &[("claim", "capacity.L2", 1.0)])], &[]);
            assert_eq!(finding.rows.iter().all(|row| row.0 != "missed"), met, "{ours}");
        }
    }

    #[test]
    fn a_round_is_between_two_maps() {
        let of = |value: f64| Figures::from([("x".to_owned(), value)]);
        let round = Round { ours: [of(2.0), of(8.0)], claims: Vec::new() };
        assert_eq!((round.of("x"), round.of("y")), (Some(4.0), None));
    }

    #[test]
    fn each_kind_of_figure_has_its_goal() {
        let check = |figure: &str, ratio: f64, expected: Option<bool>| {
            assert_eq!(meets(figure, ratio), expected, "{figure} at {ratio}");
        };
        check("memory.DRAM.read.one", 0.981, Some(true));
        check("compute.f32.one", 0.979, Some(false));
        check("compute.bf16-matrix.one", 0.99, Some(false));
        check("latency.L2", 1.031, Some(false));
        check("latency.L2", 0.972, Some(true));
        check("capacity.L2.half", 0.5, None);
    }

    #[test]
    fn ranges() {
        assert_eq!(middle(vec![3.0, 1.0, 2.0]), Some((2.0, 1.0, 3.0)));
        assert_eq!(middle(vec![1.0, 3.0]), Some((2.0, 1.0, 3.0)));
        assert_eq!(middle(vec![]), None);
    }
}
