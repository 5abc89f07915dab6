//! Other people's measurements of a machine's ceilings: run, and read.
//!
//! Packages where Debian has them (likwid, mbw, sysbench); STREAM's loops, lmbench's chain and cpufp's peaks are written
//! beside this file, since none of them is a package; libraries' matrix products by dlopen. A peer that is not there is
//! left out and named.

mod likwid;

use crate::workspace::{on_path, output};
use anyhow::{Context, Result};
use model::Map;
use std::path::Path;
use std::process::Command;

/// What one peer says of one figure, in the figure's own unit.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Claim {
    /// The peer.
    pub peer: String,
    /// The figure of the map that it answers to.
    pub figure: String,
    /// The value.
    pub value: f64,
}

/// The peers that this machine has, ready to run.
pub struct Peers {
    folder: tempfile::TempDir,
    /// Peers that are not here.
    pub absent: Vec<&'static str>,
}

/// C sources, and the flags that they want.
const SOURCES: [(&str, &str, &[&str]); 4] = [
    ("stream", include_str!("peers/stream.c"), &["-fopenmp"]),
    ("latency", include_str!("peers/latency.c"), &[]),
    ("peak", include_str!("peers/peak.c"), &[]),
    ("gemm", include_str!("peers/gemm.c"), &["-ldl"]),
];

/// Libraries that the products come from, as they call themselves in the output.
const LIBRARIES: [&str; 2] = ["oneDNN", "OpenBLAS"];

/// Elements of STREAM's arrays: 1.2 GB in all, four times the largest last level that a machine here claims.
const STREAM_ELEMENTS: &str = "50000000";
/// Megabytes of mbw's arrays.
const MBW_MEGABYTES: &str = "512";

impl Peers {
    /// Builds those that are written here, and looks for the packages.
    ///
    /// # Errors
    /// When the C compiler fails.
    pub fn build() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for (name, text, flags) in SOURCES {
            let source = folder.path().join(name).with_extension("c");
            std::fs::write(&source, text)?;
            let mut cc = Command::new("cc");
            cc.args(["-O3", "-march=native", "-o"]).arg(folder.path().join(name)).arg(&source).args(flags);
            output(&mut cc).with_context(|| format!("building {name}"))?;
        }
        let mut absent: Vec<&str> =
            ["likwid-bench", "mbw", "sysbench"].into_iter().filter(|name| !on_path(name)).collect();
        let mut peers = Self { folder, absent: Vec::new() };
        let there = peers.products()?;
        absent.extend(LIBRARIES.iter().filter(|library| there.iter().all(|claim| claim.peer != **library)));
        peers.absent = absent;
        Ok(peers)
    }

    /// What the libraries' matrix products reach on one core.
    fn products(&self) -> Result<Vec<Claim>> {
        let mut gemm = self.ours("gemm");
        gemm.env("OMP_NUM_THREADS", "1").env("OPENBLAS_NUM_THREADS", "1");
        if let Some(core) = openblas_core().filter(|_| std::env::var_os(OPENBLAS_CORE).is_none()) {
            gemm.env(OPENBLAS_CORE, core);
        }
        Ok(triples(&output(&mut gemm)?).collect())
    }

    /// Everything that every peer says, once; each works on the bytes that the map's figure stands for.
    ///
    /// # Errors
    /// When a peer that is there fails.
    pub fn claims(&self, map: &Map) -> Result<Vec<Claim>> {
        let mut claims = self.stream(map.fingerprint.cores as usize)?;
        let text = output(&mut self.ours("peak"))?;
        claims
            .extend(pairs(&text).map(|(name, value)| {
                claim("cpufp's loops", &format!("compute.{}.one", name.replace('_', "-")), value)
            }));
        claims.extend(self.products()?);
        claims.extend(self.latencies(&sizes(map))?);
        let is_here = |name: &'static str| !self.absent.contains(&name);
        if is_here("likwid-bench") {
            claims.extend(likwid::claims(map));
        }
        if is_here("mbw") {
            claims.extend(mbw()?);
        }
        if is_here("sysbench") {
            claims.extend(sysbench()?);
        }
        Ok(claims)
    }

    /// STREAM's loops on one core and on all.
    fn stream(&self, cores: usize) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        for (threads, suffix) in [(1, "one"), (cores, "all")].into_iter().take(cores.min(2)) {
            let text = output(self.ours("stream").arg(STREAM_ELEMENTS).env("OMP_NUM_THREADS", threads.to_string()))?;
            let named = ["copy", "scale", "triad"];
            claims.extend(
                pairs(&text)
                    .filter(|pair| named.contains(&pair.0.as_str()))
                    .map(|(name, value)| claim("STREAM's loops", &format!("memory.DRAM.{name}.{suffix}"), value)),
            );
        }
        Ok(claims)
    }

    /// The chain at the sizes at which the map's latencies stand.
    fn latencies(&self, sizes: &[(String, usize)]) -> Result<Vec<Claim>> {
        let bytes: Vec<String> = sizes.iter().map(|size| size.1.to_string()).collect();
        let text = output(self.ours("latency").args(&bytes))?;
        let answers = pairs(&text).filter_map(|(bytes, value)| {
            let (figure, _) = sizes.iter().find(|size| size.1.to_string() == bytes)?;
            Some(claim("lmbench's chain", figure, value))
        });
        Ok(answers.collect())
    }

    fn ours(&self, name: &str) -> Command {
        Command::new(Path::new(self.folder.path()).join(name))
    }
}

/// What tells OpenBLAS which processor it runs on.
const OPENBLAS_CORE: &str = "OPENBLAS_CORETYPE";

/// The processor that OpenBLAS should take this one for: a release that is older than the processor falls back to SSE3
/// (0.3.21 takes a Xeon of 2023 for a Prescott), and no peer should be held to that.
#[cfg(target_arch = "x86_64")]
fn openblas_core() -> Option<&'static str> {
    if is_x86_feature_detected!("avx512bw") {
        Some("SkylakeX")
    } else {
        is_x86_feature_detected!("fma").then_some("Haswell")
    }
}

/// Its own choice.
#[cfg(not(target_arch = "x86_64"))]
fn openblas_core() -> Option<&'static str> {
    None
}

/// A claim of one peer.
pub fn claim(peer: &str, figure: &str, value: f64) -> Claim {
    Claim { peer: peer.to_owned(), figure: figure.to_owned(), value }
}

/// `NAME value` lines.
fn pairs(text: &str) -> impl Iterator<Item = (String, f64)> + '_ {
    text.lines().filter_map(|line| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    })
}

/// `PEER FIGURE value` lines.
fn triples(text: &str) -> impl Iterator<Item = Claim> + '_ {
    text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [peer, figure, value] = words[..] else { return None };
        Some(claim(peer, figure, value.parse().ok()?))
    })
}

/// The sizes at which the map's latencies stand, by figure; the method says them.
fn sizes(map: &Map) -> Vec<(String, usize)> {
    let latencies = map
        .figures
        .iter()
        .filter(|figure| ["latency.L1", "latency.L2", "latency.DRAM"].contains(&figure.name.as_str()));
    let size = |method: &str| method.split(" at ").nth(1)?.split_whitespace().next()?.parse::<usize>().ok();
    latencies.filter_map(|figure| Some((figure.name.clone(), size(&figure.method)? << 10))).collect()
}

fn mbw() -> Result<Vec<Claim>> {
    let text = output(Command::new("mbw").args(["-q", "-t0", "-n", "5", MBW_MEGABYTES]))?;
    Ok(mbw_middle(&text).map(|value| claim("mbw memcpy", "memory.DRAM.copy.one", value)).into_iter().collect())
}

/// The middle MEMCPY line of mbw. It counts a copied byte once, and the map counts it as read and as written; its MiB
/// are binary.
fn mbw_middle(text: &str) -> Option<f64> {
    let lines = text.lines().filter(|line| line.contains("Method: MEMCPY") && !line.starts_with("AVG"));
    let mut rates: Vec<f64> =
        lines.filter_map(|line| line.split("Copy:").nth(1)?.split_whitespace().next()?.parse().ok()).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).map(|mib| 2.0 * mib * f64::from(1 << 20))
}

fn sysbench() -> Result<Vec<Claim>> {
    let mut claims = Vec::new();
    for (operation, figure) in [("read", "memory.DRAM.read.one"), ("write", "memory.DRAM.write.one")] {
        let oper = format!("--memory-oper={operation}");
        let mut command = Command::new("sysbench");
        command.args([
            "memory",
            "--threads=1",
            "--time=1",
            "--memory-block-size=512M",
            "--memory-total-size=1T",
            &oper,
            "run",
        ]);
        let text = output(&mut command)?;
        claims.extend(sysbench_rate(&text).map(|value| claim("sysbench memory", figure, value)));
    }
    Ok(claims)
}

/// `12345.00 MiB transferred (6789.10 MiB/sec)`.
fn sysbench_rate(text: &str) -> Option<f64> {
    let inside = text.lines().find_map(|line| line.split("transferred (").nth(1))?;
    inside.split_whitespace().next()?.parse::<f64>().ok().map(|mib| mib * f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let mbw = "0\tMethod: MEMCPY\tElapsed: 0.1\tMiB: 512\tCopy: 5000.000 MiB/s\n\
                   1\tMethod: MEMCPY\tElapsed: 0.1\tMiB: 512\tCopy: 6000.000 MiB/s\n\
                   AVG\tMethod: MEMCPY\tElapsed: 0.1\tMiB: 512\tCopy: 9000.000 MiB/s\n\
                   0\tMethod: DUMB\tElapsed: 0.1\tMiB: 512\tCopy: 8000.000 MiB/s\n";
        assert_eq!(mbw_middle(mbw), Some(12_000.0 * 1_048_576.0));
        assert_eq!(mbw_middle(""), None);
        assert_eq!(sysbench_rate("x\n102400.00 MiB transferred (10240.50 MiB/sec)\n"), Some(10_240.5 * 1_048_576.0));
        assert_eq!(sysbench_rate("nothing"), None);
        assert_eq!(triples("a b 2\nx y\n").collect::<Vec<_>>(), [claim("a", "b", 2.0)]);
        assert_eq!(pairs("copy 12.5\nnoise\n").collect::<Vec<_>>(), [("copy".to_owned(), 12.5)]);
    }
}
