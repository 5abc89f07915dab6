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
    /// Clock ticks in which a processor had work, since boot.
    pub busy: Option<u64>,
    /// Clock ticks of work of this process and of the children that it has waited for.
    pub own: Option<u64>,
    /// Processors that `ticks` counts.
    pub processors: Option<usize>,
    /// Highest clock rate of the slowest and of the fastest core, kHz.
    pub clock_rates: Option<[u64; 2]>,
    /// Core that the runs are bound to, as asked for.
    pub pinned: Option<usize>,
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
        let stat = read("proc/stat").unwrap_or_default();
        let cpu = cpu_ticks(&stat);
        let process = read("proc/self/stat");
        let cores = read("proc/self/status").and_then(|text| allowed_cores(&text));
        let not = |text: String| text.trim() == "0";
        Self {
            governor: read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").map(|text| text.trim().to_owned()),
            turbo: read("sys/devices/system/cpu/intel_pstate/no_turbo")
                .map(not)
                .or_else(|| read("sys/devices/system/cpu/cpufreq/boost").map(|text| !not(text))),
            cores,
            load: read("proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
            steal: cpu.map(|ticks| ticks.steal),
            ticks: cpu.map(|ticks| ticks.all),
            busy: cpu.map(|ticks| ticks.busy),
            own: process.as_deref().and_then(own_ticks),
            processors: Some(stat.lines().filter(|line| is_processor(line)).count()).filter(|n| *n > 0),
            clock_rates: clock_rates(root),
            pinned: None,
            virtual_machine: read("proc/cpuinfo").map(|text| text.contains(" hypervisor")),
            nice: process.as_deref().and_then(niceness),
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
                    "stop it, or pin commands to an idle core with --pin",
                ));
            }
        }
        if let (Some([slow, fast]), None) = (self.clock_rates, self.pinned) {
            // Unlike cores of one processor differ by more than the bins of one kind do.
            if fast as f64 > 1.1 * slow as f64 {
                let (slow, fast) = (slow as f64 / 1e6, fast as f64 / 1e6);
                found.push(Warning::new(
                    format!("the cores differ ({slow:.1} to {fast:.1} GHz), and a run may land on any of them"),
                    "pin both arms to one core with --pin",
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

    /// What the hypervisor gave away since `before`.
    pub fn steal_since(&self, before: &Self) -> Option<Warning> {
        let steal = since(self.steal, before.steal)?;
        let share = steal as f64 / since(self.ticks, before.ticks)?.max(1) as f64;
        // Below 1 % the pairs absorb it.
        (share >= 0.01).then(|| {
            Warning::new(
                format!("the hypervisor gave {:.0} % of the processor time to other guests", 100.0 * share),
                "repeat on a quieter machine or hour if the verdict is undecided",
            )
        })
    }

    /// What other processes did since `before`, in cores. Right where all of our own work is done by children.
    pub fn others_since(&self, before: &Self) -> Option<Warning> {
        let busy = since(self.busy, before.busy)?;
        let others = busy.saturating_sub(since(self.own, before.own)?) as f64;
        let processors = self.processors? as f64;
        let cores = others / since(self.ticks, before.ticks)?.max(1) as f64 * processors;
        (cores >= BUSY_OTHERS).then(|| {
            Warning::new(
                format!("other processes used {cores:.1} of {processors} cores while it ran"),
                "stop them (`top` names them), or pin commands to an idle core with --pin",
            )
        })
    }
}

/// Cores' worth of other work from which on a machine is not idle: an idle desktop's daemons use less.
const BUSY_OTHERS: f64 = 0.2;

fn since(now: Option<u64>, then: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(then?))
}

/// What has to agree before noise measured earlier is believed here: processor, cores, governor, kernel, host.
pub(crate) fn machine(root: &Path) -> String {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default().trim().to_owned();
    let now = Snapshot::under(root);
    let info = read("proc/cpuinfo");
    let model = info.lines().find(|line| line.starts_with("model name") || line.starts_with("CPU part"));
    let model = model.and_then(|line| Some(line.split_once(':')?.1.trim())).unwrap_or("unknown processor");
    let cores = now.cores.map_or_else(|| "?".to_owned(), |cores| cores.to_string());
    let clock = format!("governor {:?}, turbo {:?}", now.governor, now.turbo);
    let (kernel, host) = (read("proc/sys/kernel/osrelease"), read("proc/sys/kernel/hostname"));
    format!("{model}, {cores} cores, {clock}, nice {:?}, kernel {kernel}, host {host}", now.nice)
}

/// The rates of the slowest and the fastest core, where the kernel tells them.
fn clock_rates(root: &Path) -> Option<[u64; 2]> {
    let cores = std::fs::read_dir(root.join("sys/devices/system/cpu")).ok()?.flatten();
    let rate = |folder: std::path::PathBuf| {
        std::fs::read_to_string(folder.join("cpufreq/cpuinfo_max_freq")).ok()?.trim().parse::<u64>().ok()
    };
    let rates: Vec<u64> = cores.filter_map(|core| rate(core.path())).collect();
    Some([*rates.iter().min()?, *rates.iter().max()?])
}

fn is_processor(line: &str) -> bool {
    line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// Of /proc/stat's first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    steal: u64,
    busy: u64,
    all: u64,
}

fn cpu_ticks(stat: &str) -> Option<Ticks> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest time is in user already.
    let (steal, all) = (*ticks.get(7)?, ticks.iter().take(8).sum::<u64>());
    Some(Ticks { steal, busy: all - ticks[3] - ticks[4] - steal, all })
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

/// Fields 14 to 17 of /proc/self/stat: user and system time, of the process and of its children.
fn own_ticks(stat: &str) -> Option<u64> {
    let fields: Vec<u64> =
        stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(4).map_while(|field| field.parse().ok()).collect();
    (fields.len() == 4).then(|| fields.iter().sum())
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
        let ticks = cpu_ticks("cpu  10 1 5 80 2 0 1 7 3 0\ncpu0 1 1 1 1\n");
        assert_eq!(ticks, Some(Ticks { steal: 7, busy: 17, all: 106 }));
        assert_eq!(cpu_ticks("intr 5"), None);
        assert_eq!(allowed_cores("Name:\tx\nCpus_allowed_list:\t0-3,8\n"), Some(5));
        assert_eq!(allowed_cores("Cpus_allowed_list:\t3-1\n"), None);
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 100 0 0 0 1 2 30 40 20 5 1 0 99";
        assert_eq!(own_ticks(stat), Some(73));
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
        write("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3800000\n");
        write("sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "5200000\n");
        write("proc/loadavg", "3.50 1 1 2/99 7\n");
        write("proc/self/status", "Cpus_allowed_list:\t0-1\n");
        let snapshot = Snapshot::under(root.path());
        let shown: Vec<String> = snapshot.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 4, "{shown:?}");
        assert!(shown[0].contains("powersave") && shown[1].contains("turbo") && shown[2].contains("load 3.5"));
        assert!(shown[3].contains("3.8 to 5.2 GHz") && shown[3].contains("--pin"), "{shown:?}");
        assert_eq!(Snapshot { pinned: Some(1), ..snapshot }.warnings().len(), 3);
    }

    #[test]
    fn a_machine_is_told_from_its_own_past() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n");
        write("proc/sys/kernel/osrelease", "6.1.0-1\n");
        let before = machine(root.path());
        assert!(before.contains("Some CPU @ 2 GHz") && before.contains("kernel 6.1.0-1"), "{before}");
        let check = |path: &str, text: &str| {
            let then = machine(root.path());
            write(path, text);
            assert_ne!(machine(root.path()), then, "{path}");
        };
        check("proc/sys/kernel/osrelease", "6.1.0-2\n");
        check("proc/self/status", "Cpus_allowed_list:\t0-1\n");
        check("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    }

    #[test]
    fn others_are_what_is_not_ours() {
        let at = |busy, own, ticks| Snapshot {
            busy: Some(busy),
            own: Some(own),
            ticks: Some(ticks),
            processors: Some(4),
            ..Snapshot::default()
        };
        let (before, quiet, loud) = (at(100, 10, 1000), at(210, 110, 1400), at(290, 110, 1400));
        assert_eq!(quiet.others_since(&before), None);
        assert!(
            loud.others_since(&before).unwrap().what.contains("0.9 of 4 cores"),
            "{:?}",
            loud.others_since(&before)
        );
        assert_eq!(loud.others_since(&Snapshot::default()), None);
    }

    #[test]
    fn steal_counts_from_one_percent() {
        let at = |steal, ticks| Snapshot { steal: Some(steal), ticks: Some(ticks), ..Snapshot::default() };
        assert_eq!(at(5, 1000).steal_since(&at(0, 0)), None);
        assert!(at(70, 1000).steal_since(&at(0, 0)).unwrap().what.contains("7 %"));
        assert_eq!(Snapshot::default().steal_since(&at(0, 0)), None);
    }
}
