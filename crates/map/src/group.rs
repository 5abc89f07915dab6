//! What control groups allow this process: a share of the cores' time, and memory. Both versions of them; the least limit
//! of the process's own group and of every group above it counts.

use crate::system::bytes_of;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Where the system shows the groups.
const ROOT: &str = "/sys/fs/cgroup";

/// Cores' worth of time that the groups allow, where they limit it.
pub(crate) fn quota() -> Option<f64> {
    let own = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let second = folders(&own, "").into_iter().filter_map(|folder| quota_of(&read(&folder, "cpu.max")?));
    let first = folders(&own, "cpu").into_iter().filter_map(|folder| {
        quota_of(&format!("{} {}", read(&folder, "cpu.cfs_quota_us")?, read(&folder, "cpu.cfs_period_us")?))
    });
    second.chain(first).min_by(f64::total_cmp)
}

/// Bytes of memory that the groups allow, where they limit it.
pub(crate) fn memory() -> Option<usize> {
    let own = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let second = folders(&own, "").into_iter().filter_map(|folder| bytes_of(&read(&folder, "memory.max")?));
    let first = folders(&own, "memory").into_iter();
    let first = first.filter_map(|folder| bytes_of(&read(&folder, "memory.limit_in_bytes")?));
    second.chain(first).min()
}

fn read(folder: &Path, file: &str) -> Option<String> {
    read_to_string(folder.join(file)).ok()
}

/// The folders of this process's groups that have a controller, its own first; version 2 for the empty one. The lines of
/// `/proc/self/cgroup` are `ID:CONTROLLERS:PATH`; in a container the path may be the host's, and then only the root is
/// there to be read.
fn folders(own: &str, controller: &str) -> Vec<PathBuf> {
    let group = own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some((controllers, path))
    });
    let Some((controllers, path)) = group else { return vec![Path::new(ROOT).join(controller)] };
    let root = Path::new(ROOT).join(controllers);
    let own = root.join(path.trim_start_matches('/'));
    own.ancestors().take_while(|folder| folder.starts_with(&root)).map(Path::to_owned).collect()
}

/// Cores' worth of time from `cpu.max` (control groups, version 2): `max 100000` or `150000 100000`.
fn quota_of(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let (quota, period) = (words.next()?.parse::<f64>().ok()?, words.next()?.parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_read() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(quota_of(text), expected, "{text}");
        check("max 100000\n", None);
        check("150000 100000\n", Some(1.5));
        check("-1\n 100000\n", None);
        check("", None);
    }

    #[test]
    fn a_group_and_those_above_it_count() {
        let check = |own: &str, controller: &str, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(folders(own, controller), expected, "{own}, {controller}");
        };
        let second = "0::/user.slice/work.scope\n";
        check(second, "", &["/sys/fs/cgroup/user.slice/work.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]);
        let first = "5:memory:/\n4:cpu,cpuacct:/job\n0::/\n";
        check(first, "cpu", &["/sys/fs/cgroup/cpu,cpuacct/job", "/sys/fs/cgroup/cpu,cpuacct"]);
        check(first, "memory", &["/sys/fs/cgroup/memory"]);
        check("", "cpu", &["/sys/fs/cgroup/cpu"]);
    }
}
