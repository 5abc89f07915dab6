//! The machine's state around a comparison, and what to do about it. Reads; changes nothing.

use serde::{Deserialize, Serialize};
use std::path::Path;

/// Something that makes a result weaker, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What was seen, with its figure.
    pub what: String,
    /// What to do.
    pub fix: String,
}

impl Warning {
    /// Both halves in words.
    pub fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.fix)
    }
}

/// What the operating system said at one moment. A field that it does not tell is None.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Frequency governor of the first core.
    pub governor: Option<String>,
    /// Whether the clock may rise above its nominal rate.
    pub turbo: Option<bool>,
    /// Cores that this process may use.
    pub cores: Option<usize>,
    /// Runnable processes over the last minute.
    pub load: Option<f64>,
    /// Clock ticks that the hypervisor gave to others, since boot.
    pub steal: Option<u64>,
    /// Clock ticks of all kinds, since boot.
    pub ticks: Option<u64>,
    /// Whether this is a virtual machine.
    pub virtual_machine: Option<bool>,
    /// Niceness: above 0 is a low priority.
    pub nice: Option<i64>,
}

impl Snapshot {
    /// As of now.
    pub fn take() -> Self {
        Self::under(Path::new("/"))
    }

    /// From the /proc and /sys below `root`.
    pub fn under(root: &Path) -> Self {
        let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        let cpu = read("proc/stat").and_then(|text| cpu_ticks(&text));
        let cores = read("proc/self/status").and_then(|text| allowed_cores(&text));
        let not = |text: String| text.trim() == "0";
        Self {
            governor: read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").map(|text| text.trim().to_owned()),
            turbo: read("sys/devices/system/cpu/intel_pstate/no_turbo")
                .map(not)
                .or_else(|| read("sys/devices/system/cpu/cpufreq/boost").map(|text| !not(text))),
            cores,
            load: read("proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
            steal: cpu.map(|(steal, _)| steal),
            ticks: cpu.map(|(_, all)| all),
            virtual_machine: read("proc/cpuinfo").map(|text| text.contains(" hypervisor")),
            nice: read("proc/self/stat").and_then(|text| niceness(&text)),
        }
    }

    /// What weakens a comparison that starts now.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut found = Vec::new();
        if let Some(governor) = self.governor.as_deref().filter(|governor| *governor != "performance") {
            found.push(Warning::new(
                format!("the frequency governor is `{governor}`, so the clock follows the load"),
                "run `cpupower frequency-set -g performance`",
            ));
        }
        if self.turbo == Some(true) {
            found.push(Warning::new(
                "turbo is on, so the clock depends on temperature and neighbours",
                "switch it off for small differences (`echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo`)",
            ));
        }
        if let (Some(load), Some(cores)) = (self.load, self.cores) {
            // Our own measuring keeps one core busy at most.
            if load > 0.5 * cores as f64 && load > 0.5 {
                found.push(Warning::new(
                    format!("other work is running (load {load:.1} on {cores} cores)"),
                    "stop it, or pin both arms to an idle core with --pin",
                ));
            }
        }
        if let Some(nice) = self.nice.filter(|nice| *nice > 0) {
            found.push(Warning::new(
                format!("this process has a low priority (nice {nice})"),
                "start it without `nice`, so that others do not take its core",
            ));
        }
        found
    }

    /// What happened since `before`: time that the hypervisor gave away.
    pub fn warnings_since(&self, before: &Self) -> Vec<Warning> {
        let difference = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let (Some(steal), Some(all)) = (difference(self.steal, before.steal), difference(self.ticks, before.ticks))
        else {
            return Vec::new();
        };
        let share = steal as f64 / all.max(1) as f64;
        // Below 1 % the pairs absorb it.
        if share < 0.01 {
            return Vec::new();
        }
        vec![Warning::new(
            format!("the hypervisor gave {:.0} % of the processor time to other guests", 100.0 * share),
            "repeat on a quieter machine or hour if the verdict is undecided",
        )]
    }
}

/// Steal and total ticks of /proc/stat's first line.
fn cpu_ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest time is in user already.
    Some((*ticks.get(7)?, ticks.iter().take(8).sum()))
}

/// Cores of a list such as `0-3,8`.
fn allowed_cores(status: &str) -> Option<usize> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim().split(',').map(range_length).sum()
}

fn range_length(range: &str) -> Option<usize> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?).map(|n| n + 1)
}

/// Field 19 of /proc/self/stat, counted from the end of the name, which may hold spaces.
fn niceness(stat: &str) -> Option<i64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(16)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_words() {
        assert_eq!(cpu_ticks("cpu  10 1 5 80 2 0 1 7 3 0\ncpu0 1 1 1 1\n"), Some((7, 106)));
        assert_eq!(cpu_ticks("intr 5"), None);
        assert_eq!(allowed_cores("Name:\tx\nCpus_allowed_list:\t0-3,8\n"), Some(5));
        assert_eq!(allowed_cores("Cpus_allowed_list:\t3-1\n"), None);
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 100 0 0 0 1 2 0 0 20 5 1 0 99";
        assert_eq!(niceness(stat), Some(5));
    }

    #[test]
    fn a_machine_from_files() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(Snapshot::under(root.path()), Snapshot::default());
        write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
        write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
        write("proc/loadavg", "3.50 1 1 2/99 7\n");
        write("proc/self/status", "Cpus_allowed_list:\t0-1\n");
        let snapshot = Snapshot::under(root.path());
        let shown: Vec<String> = snapshot.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 3, "{shown:?}");
        assert!(shown[0].contains("powersave") && shown[1].contains("turbo") && shown[2].contains("load 3.5"));
    }

    #[test]
    fn steal_counts_from_one_percent() {
        let at = |steal, ticks| Snapshot { steal: Some(steal), ticks: Some(ticks), ..Snapshot::default() };
        assert_eq!(at(5, 1000).warnings_since(&at(0, 0)), []);
        assert!(at(70, 1000).warnings_since(&at(0, 0))[0].what.contains("7 %"));
        assert_eq!(Snapshot::default().warnings_since(&at(0, 0)), []);
    }
}
