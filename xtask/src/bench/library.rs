//! `attention-library`: the winner of the recorded campaign on attention in bf16 against the library that is fastest at
//! it on a CPU, PyTorch, on one thread, at the declared lengths and at lengths that nobody tuned for.
//!
//! Must not choose the library's slower path: of its two ways to share key/value heads, the faster counts at each length.

use super::place::{self, Packages};
use super::{Entry, Finding, Record, Rig};
use crate::workspace::{command, output, root, run as finish};
use anyhow::{Context, Result};
use serde::Deserialize;
use stats::robust::{geometric_mean, median};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// This bench.
pub const ENTRY: Entry = Entry {
    name: "attention-library",
    asks: "the recorded campaign's winner on bf16 attention against PyTorch's own, one thread: which is faster?",
    runs: 12,
    measure,
};

/// The campaign: `winner.json`, and the header that `rooflab export` wrote.
const CAMPAIGN: &str = "runs/2026-12-01-attention-bf16";
const HEADER: &str = "attention_prefill_bf16.h";
/// The lengths that the search saw.
const DECLARED: [u32; 4] = [128, 333, 512, 1024];
/// Lengths that it did not.
const HELD_OUT: [u32; 6] = [97, 200, 384, 640, 777, 1400];
/// Two-sided, of a length's interval.
const ALPHA: f64 = 0.05;
/// Effects beyond this count as this much: nothing here is a thousand times as fast.
const CLIP: f64 = 7.0;

/// What one process found at one length.
#[derive(Deserialize)]
struct Line {
    length: u32,
    torch: String,
    seconds: BTreeMap<String, Vec<f64>>,
}

fn measure(rig: &Rig, record: &mut Record) -> Result<Finding> {
    let python = place::python(Packages::Torch)?;
    let folder = tempfile::tempdir()?;
    let library = build(&root().join(CAMPAIGN), folder.path())?;
    let mut raw = File::create(record.folder().join("calls.jsonl"))?;
    let mut lines = Vec::new();
    for seed in 1..=rig.runs() {
        let text = output(&mut race(&python, &library, seed))?;
        raw.write_all(text.as_bytes())?;
        eprintln!("process {seed} of {}", rig.runs());
        for line in text.lines() {
            lines.push(serde_json::from_str::<Line>(line).with_context(|| line.to_owned())?);
        }
    }
    Ok(judge(&lines))
}

fn race(python: &Path, library: &Path, seed: usize) -> std::process::Command {
    let mut command = command(&[&python.to_string_lossy()]);
    command.arg(root().join("benches/attention-library/race.py")).arg(library).arg(seed.to_string());
    command.args(DECLARED.iter().chain(&HELD_OUT).map(u32::to_string));
    command.env("OMP_NUM_THREADS", "1");
    command
}

/// As the judge's builder does, without its sandbox: what runs here has been vetted and judged.
fn build(campaign: &Path, folder: &Path) -> Result<PathBuf> {
    let winner = campaign.join("winner.json");
    let text = fs::read_to_string(&winner).with_context(|| winner.display().to_string())?;
    let source: model::Source = serde_json::from_str(&text).context("a source")?;
    let (file, library) = (folder.join("winner.c"), folder.join("winner.so"));
    fs::write(&file, source.text.replace("#include \"problem.h\"", ""))?;
    let mut cc = command(&["cc", "-O3", "-march=native", "-fPIC", "-shared", "-include"]);
    cc.arg(campaign.join(HEADER)).args(&source.flags).arg("-o").arg(&library).arg(&file).arg("-lm");
    finish(&mut cc)?;
    Ok(library)
}

/// ln of the library's time over ours, a process, by length.
fn gains(lines: &[Line]) -> BTreeMap<u32, Vec<f64>> {
    let mut gains: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for line in lines {
        let of = |arm: &str| line.seconds.get(arm).map_or(f64::NAN, |seconds| median(seconds));
        let library = of("shared").min(of("repeated"));
        gains.entry(line.length).or_default().push((library / of("ours")).ln());
    }
    gains
}

fn judge(lines: &[Line]) -> Finding {
    let gains = gains(lines);
    let mut rows = Vec::new();
    let mut met = !gains.is_empty();
    for (length, gains) in &gains {
        let interval = stats::interval(gains, CLIP, ALPHA);
        let [middle, low, high] = [stats::hodges_lehmann(gains), interval.low, interval.high].map(f64::exp);
        let what = if DECLARED.contains(length) { "declared" } else { "held out" };
        rows.push((format!("len={length}, {what}"), format!("{middle:.2}x [{low:.2}, {high:.2}]")));
        met &= low > 1.0;
    }
    let all: Vec<f64> = gains.values().map(|gains| stats::hodges_lehmann(gains).exp()).collect();
    rows.push(("geometric mean of all lengths".into(), format!("{:.2}x", geometric_mean(&all))));
    let torch = lines.first().map_or("none", |line| line.torch.as_str());
    rows.push(("PyTorch".into(), torch.to_owned()));
    let target = "faster than the library at every length, the interval above 1".to_owned();
    Finding { rows, milliseconds: Vec::new(), target, met }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(length: u32, [shared, repeated, ours]: [f64; 3]) -> Line {
        let seconds = [("shared", shared), ("repeated", repeated), ("ours", ours)];
        let seconds = seconds.map(|(name, time)| (name.to_owned(), vec![time; 3])).into();
        Line { length, torch: "2".into(), seconds }
    }

    #[test]
    fn the_librarys_faster_way_counts() {
        let found = gains(&[line(128, [4.0, 2.0, 1.0]), line(333, [1.0, 3.0, 2.0])]);
        assert!((found[&128][0] - 2f64.ln()).abs() < 1e-12, "{found:?}");
        assert!((found[&333][0] + 2f64.ln()).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn one_slower_length_misses_the_target() {
        let lines = |second: f64| -> Vec<Line> {
            (0..12).flat_map(|_| [line(128, [2.0, 2.0, 1.0]), line(777, [2.0, 2.0, second])]).collect()
        };
        assert!(judge(&lines(1.5)).met);
        let missed = judge(&lines(2.5));
        assert!(!missed.met);
        assert!(missed.rows[1].0.ends_with("held out"), "{:?}", missed.rows);
    }
}
