//! The command line of `rooflab map`, parsed and nothing more.

use super::{PlaceArgs, StoreArgs};
use clap::Subcommand;
use std::path::PathBuf;

/// `rooflab map`.
///
/// Measures compute, memory, latencies, capacities, clocks, floors and noise of this machine, one core and all, each
/// figure with its method, its interval and a witness where there is one; prints a table, keeps the map in the ledger,
/// and writes map.html into the output folder.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct MapArgs {
    /// What to do with maps that are there.
    #[command(subcommand)]
    pub verb: Option<MapVerb>,
    /// What to measure: `cpu`, `cuda:0`, `cuda:1`, ...; `list` shows what there is.
    ///
    /// The CUDA driver and NVRTC are loaded when a device is asked for, and nothing else needs them.
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Shorter windows and coarser curves: under 15 seconds in all, instead of 90.
    #[arg(long)]
    pub quick: bool,
    /// Minutes: latency at sizes at most 5 % apart, 5 seconds a unit.
    #[arg(long, conflicts_with = "quick")]
    pub deep: bool,
    /// Hold the f32 ceiling for 30 seconds: what is kept up when the package is warm.
    #[arg(long)]
    pub soak: bool,
    /// Measure again, even when the ledger holds a map of this machine.
    ///
    /// A stored map is used as long as the machine's fingerprint (processor, cores, features, kernel, rooflab's probes)
    /// has not changed. --deep and --soak measure anyway.
    #[arg(long)]
    pub fresh: bool,
    /// Print the map as JSON (docs/map-schema.md).
    #[arg(long)]
    pub json: bool,
    /// Where results are kept.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// What to do with maps that are there.
#[derive(Debug, Subcommand)]
pub enum MapVerb {
    /// What differs between two maps: of machines, kernels or days.
    ///
    /// A figure differs when its intervals do not overlap and its values are more than 2 % apart.
    Diff {
        /// A file that `rooflab map --json` wrote, a map's entry id or the start of it, `last` or `previous`.
        #[arg(value_name = "A")]
        a: String,
        /// The other one.
        #[arg(value_name = "B")]
        b: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Which ledger.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Does the stored map still hold? Measures five of its figures again, in about 3 seconds.
    Check {
        /// End with 1 when a figure no longer holds, or the machine has changed.
        #[arg(long)]
        gate: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Which ledger.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// The maps in the ledger, of this machine and of others.
    List {
        /// Which ledger.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Write a map's page again.
    Page {
        /// As for `diff`.
        #[arg(value_name = "MAP", default_value = "last")]
        map: String,
        /// The file to write.
        #[arg(long, value_name = "FILE", default_value = "map.html")]
        to: PathBuf,
        /// Which ledger.
        #[command(flatten)]
        store: StoreArgs,
    },
}

#[cfg(test)]
mod tests {
    use crate::args::{Args, MapVerb, Verb};
    use clap::Parser;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn a_map_is_measured_or_read() {
        let Verb::Map(map) = parse("rooflab map --deep --soak --fresh").unwrap().verb else { panic!() };
        assert!(map.deep && map.soak && map.fresh && !map.quick && map.verb.is_none() && map.device.is_none());
        let Verb::Map(map) = parse("rooflab map --device cuda:0 --json").unwrap().verb else { panic!() };
        assert_eq!(map.device.as_deref(), Some("cuda:0"));
        let Verb::Map(map) = parse("rooflab map diff last a.json --ledger l.db").unwrap().verb else { panic!() };
        let Some(MapVerb::Diff { a, b, store, .. }) = map.verb else { panic!() };
        assert_eq!((a.as_str(), b.as_str()), ("last", "a.json"));
        assert!(store.ledger.is_some());
        let Verb::Map(map) = parse("rooflab map check --gate").unwrap().verb else { panic!() };
        assert!(matches!(map.verb, Some(MapVerb::Check { gate: true, .. })));
        assert!(parse("rooflab map --quick --deep").is_err());
        assert!(parse("rooflab map --quick check").is_err());
        assert!(parse("rooflab map diff last").is_err());
    }
}
