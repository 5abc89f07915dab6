//! likwid-bench's kernels by the figure of the map that each answers to, over the same bytes as the map's.
//!
//! It times a whole run, so a run is as many rounds as last a while at the rate that the map found: its own search for a
//! number takes seconds a kernel.

use super::{Claim, claim};
use crate::workspace::output;
use model::Map;
use std::process::Command;

/// A figure, and the kernel that answers to it. The level of a memory figure gives the bytes.
const KERNELS: [(&str, &str); 18] = [
    ("compute.f32.one", "peakflops_sp_avx512_fma"),
    ("compute.f64.one", "peakflops_avx512_fma"),
    ("compute.f32.all", "peakflops_sp_avx512_fma"),
    ("memory.L1.read.one", "load_avx512"),
    ("memory.L1.write.one", "store_avx512"),
    ("memory.L1.copy.one", "copy_avx512"),
    ("memory.L1.triad.one", "stream_avx512_fma"),
    ("memory.L2.read.one", "load_avx512"),
    ("memory.L2.write.one", "store_avx512"),
    ("memory.L2.copy.one", "copy_avx512"),
    ("memory.L2.triad.one", "stream_avx512_fma"),
    ("memory.DRAM.read.one", "load_avx512"),
    ("memory.DRAM.write.one", "store_avx512"),
    ("memory.DRAM.copy.one", "copy_avx512"),
    ("memory.DRAM.triad.one", "stream_avx512_fma"),
    ("memory.DRAM.copy-stream.one", "copy_mem_avx512"),
    ("memory.DRAM.read.all", "load_avx512"),
    ("memory.DRAM.copy.all", "copy_avx512"),
];

/// How long a run is to last.
const SECONDS: f64 = 0.4;
/// Rounds at least: the first ones find cold pages.
const LEAST: f64 = 8.0;
/// Bytes that the arithmetic kernels go over; they lie in the first level.
const ARITHMETIC: usize = 24_000;
/// Operations of the arithmetic kernels on an element (`likwid-bench -l peakflops_avx512_fma`).
const OPERATIONS: f64 = 30.0;

/// One run of the program.
#[derive(Debug, PartialEq)]
struct Order {
    figure: &'static str,
    arguments: Vec<String>,
    /// Which line of the report answers.
    line: &'static str,
}

/// What it says, kernel by kernel. A kernel that the processor or the package lacks is no claim.
pub(super) fn claims(map: &Map) -> Vec<Claim> {
    let run = |order: Order| {
        let text = output(Command::new("likwid-bench").args(&order.arguments)).ok()?;
        Some(claim("likwid-bench", order.figure, field(&text, order.line)? * 1e6))
    };
    orders(map).into_iter().filter_map(run).collect()
}

/// A run for every kernel whose figure the map has.
fn orders(map: &Map) -> Vec<Order> {
    KERNELS.iter().filter_map(|(figure, kernel)| order(map, figure, kernel)).collect()
}

fn order(map: &Map, figure: &'static str, kernel: &str) -> Option<Order> {
    let rate = map.figure(figure)?.value;
    let threads = if figure.rsplit('.').next() == Some("all") { map.fingerprint.cores as usize } else { 1 };
    let (bytes, round, line) = if figure.starts_with("compute.") {
        let element = if figure.contains(".f64.") { 8 } else { 4 };
        (ARITHMETIC * threads, OPERATIONS * (ARITHMETIC * threads / element) as f64, "MFlops/s:")
    } else {
        let level = figure.split('.').nth(1)?;
        let bytes = map.memory.iter().find(|ceiling| ceiling.level == level)?.working_set.0;
        (bytes as usize, bytes, "MByte/s:")
    };
    let rounds = (SECONDS * rate / round).max(LEAST);
    let set = format!("S0:{}kB:{threads}", bytes / 1000);
    let arguments = ["-t", kernel, "-i", &format!("{rounds:.0}"), "-w", &set].map(str::to_owned);
    Some(Order { figure, arguments: arguments.to_vec(), line })
}

/// The number after a label.
fn field(text: &str, label: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.trim().strip_prefix(label))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Bytes, BytesPerSecond, Figure, Interval, MemoryCeiling};

    #[test]
    fn the_report_is_read() {
        let report = "Cycles:\t\t4199999\nMFlops/s:\t\t133000.50\nMByte/s:\t\t90000.00\n";
        assert_eq!(field(report, "MFlops/s:"), Some(133_000.5));
        assert_eq!(field(report, "MByte/s:"), Some(90_000.0));
        assert_eq!(field("", "MByte/s:"), None);
    }

    #[test]
    fn runs_are_over_the_maps_bytes_and_about_as_long() {
        let figure = |name: &str, value: f64| Figure { name: name.to_owned(), value, ..Figure::default() };
        let level = MemoryCeiling {
            level: "L2".to_owned(),
            kernel: "read".to_owned(),
            working_set: Bytes(1e6),
            best: BytesPerSecond(0.0),
            sustained: BytesPerSecond(0.0),
            spread: Interval::default(),
            method: String::new(),
        };
        let map = Map {
            memory: vec![level],
            figures: vec![figure("memory.L2.read.one", 100e9), figure("compute.f32.one", 180e9)],
            ..Map::default()
        };
        let lines: Vec<String> = orders(&map).iter().map(|order| order.arguments.join(" ")).collect();
        assert_eq!(
            lines,
            ["-t peakflops_sp_avx512_fma -i 400000 -w S0:24kB:1", "-t load_avx512 -i 40000 -w S0:1000kB:1"]
        );
    }
}
