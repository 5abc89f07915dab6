//! Control groups: limits on memory and processes for all runners together, and for the compiler with all that it starts.
//!
//! Must not be a condition: where no hierarchy may be used, the limits of each process stand alone, and the record says so.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How the folders of a judge begin; its process follows.
const PREFIX: &str = "rooflab-";
/// Memory of a group. One process may address 3 GiB (the builder) or 2 GiB beyond its arguments (a runner); arguments are
/// charged to the judge, which touches them first.
const MEMORY: u64 = 4 << 30;
/// Processes and threads of the runners: two that are timed and two that pack weights, each of one thread and a pool's
/// (32 at most).
const RUNNER_PROCESSES: u32 = 160;
/// Of the compiler: driver, cc1, as, collect2, ld.
const BUILDER_PROCESSES: u32 = 128;

/// Whose group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// The compiler's.
    Builder,
    /// The runners'.
    Runner,
}

/// What a hierarchy is asked to limit, and in whose words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hierarchy {
    /// Version 1, memory alone.
    Memory1,
    /// Version 1, processes alone.
    Pids1,
    /// Version 2, both.
    Unified,
}

/// Groups of one judge.
struct Groups {
    folders: Vec<PathBuf>,
    builder: Vec<File>,
    runner: Vec<File>,
    words: String,
}

static GROUPS: OnceLock<Groups> = OnceLock::new();

/// Makes the groups, where that is possible. Once a process; before the first child is started.
pub fn set_up() {
    GROUPS.get_or_init(|| {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let places = places(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
        Groups::make(&places, std::process::id())
    });
}

/// What is in force, for the record.
pub fn words() -> String {
    GROUPS.get().map_or_else(|| "no cgroup".to_owned(), |groups| groups.words.clone())
}

/// Descriptors that a child writes `0` to, to join its group before it runs anything.
pub fn doors(member: Member) -> Vec<RawFd> {
    let Some(groups) = GROUPS.get() else { return Vec::new() };
    let files = match member {
        Member::Builder => &groups.builder,
        Member::Runner => &groups.runner,
    };
    files.iter().map(AsRawFd::as_raw_fd).collect()
}

/// Removes the groups, when the judge ends and all that it started has ended.
pub fn remove() {
    for folder in GROUPS.get().into_iter().flat_map(|groups| &groups.folders) {
        let _ = fs::remove_dir(folder);
    }
}

impl Groups {
    fn make(places: &[(Hierarchy, PathBuf)], judge: u32) -> Self {
        let mut groups = Self { folders: Vec::new(), builder: Vec::new(), runner: Vec::new(), words: String::new() };
        let mut names = Vec::new();
        let mut refused = "no hierarchy limits memory or processes".to_owned();
        for (hierarchy, place) in places {
            sweep(place);
            match groups.add(*hierarchy, place, judge) {
                Ok(()) => names.push(hierarchy.name()),
                Err(error) => refused = format!("{}: {error}", hierarchy.name()),
            }
        }
        groups.words =
            if names.is_empty() { format!("no cgroup ({refused})") } else { format!("cgroup {}", names.join(" and ")) };
        groups
    }

    fn add(&mut self, hierarchy: Hierarchy, place: &Path, judge: u32) -> io::Result<()> {
        if hierarchy == Hierarchy::Unified {
            delegate(place)?;
        }
        let builder = place.join(format!("{PREFIX}{judge}-builder"));
        let runner = place.join(format!("{PREFIX}{judge}-runner"));
        let made = hierarchy.make(&builder, BUILDER_PROCESSES).and_then(|builder_door| {
            hierarchy.make(&runner, RUNNER_PROCESSES).map(|runner_door| (builder_door, runner_door))
        });
        match made {
            Ok((builder_door, runner_door)) => {
                self.folders.extend([builder, runner]);
                self.builder.push(builder_door);
                self.runner.push(runner_door);
                Ok(())
            }
            Err(error) => {
                // Neither half of a pair is kept.
                let _ = fs::remove_dir(builder);
                let _ = fs::remove_dir(runner);
                Err(error)
            }
        }
    }
}

impl Hierarchy {
    fn name(self) -> &'static str {
        match self {
            Self::Memory1 => "v1 (memory)",
            Self::Pids1 => "v1 (pids)",
            Self::Unified => "v2 (memory, pids)",
        }
    }

    /// A group with its limits. What it returns lets a process in.
    fn make(self, folder: &Path, processes: u32) -> io::Result<File> {
        fs::create_dir(folder)?;
        if self != Self::Pids1 {
            let file = if self == Self::Unified { "memory.max" } else { "memory.limit_in_bytes" };
            fs::write(folder.join(file), MEMORY.to_string())?;
        }
        if self != Self::Memory1 {
            fs::write(folder.join("pids.max"), processes.to_string())?;
        }
        File::options().write(true).open(folder.join("cgroup.procs"))
    }
}

/// A group whose members may be limited one by one: its controllers have to be handed on, which the kernel refuses while
/// processes sit in it.
fn delegate(place: &Path) -> io::Result<()> {
    let control = place.join("cgroup.subtree_control");
    let handed = fs::read_to_string(&control)?;
    let has = |name: &str| handed.split_whitespace().any(|word| word == name);
    if has("memory") && has("pids") { Ok(()) } else { fs::write(&control, "+memory +pids") }
}

/// Removes groups that judges left behind which were killed. One that still has members stays.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let judge = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if judge.is_some_and(|judge| !Path::new("/proc").join(judge).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Where this process sits in the hierarchies that can limit it: v1 where one is mounted, else v2.
fn places(cgroup: &str, mountinfo: &str) -> Vec<(Hierarchy, PathBuf)> {
    let of = |controller: &str| {
        let path = cgroup.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let names = parts.next()?;
            names.split(',').any(|name| name == controller).then(|| parts.next()).flatten()
        })?;
        mounted(mountinfo, path, |kind, options| kind == "cgroup" && options.split(',').any(|o| o == controller))
    };
    let memory = of("memory").map(|place| (Hierarchy::Memory1, place));
    let pids = of("pids").map(|place| (Hierarchy::Pids1, place));
    let found: Vec<_> = memory.into_iter().chain(pids).collect();
    if !found.is_empty() {
        return found;
    }
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::"));
    let place = path.and_then(|path| mounted(mountinfo, path, |kind, _| kind == "cgroup2"));
    place.map(|place| (Hierarchy::Unified, place)).into_iter().collect()
}

/// `path` of a hierarchy as a folder, by the mount that `fits` its type and its options.
fn mounted(mountinfo: &str, path: &str, fits: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let (mut before, mut after) = (before.split(' ').skip(3), after.split(' '));
        let (root, at) = (before.next()?, before.next()?);
        let (kind, options) = (after.next()?, after.nth(1)?);
        let inside = Path::new(path).strip_prefix(root).ok()?;
        fits(kind, options).then(|| Path::new(at).join(inside))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "\
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
    const V2: &str = "29 23 0:26 /user.slice /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";

    #[test]
    fn hierarchies_are_found() {
        let check = |cgroup: &str, mounts: &str, expected: &[(Hierarchy, &str)]| {
            let expected: Vec<_> = expected.iter().map(|(h, path)| (*h, PathBuf::from(path))).collect();
            assert_eq!(places(cgroup, mounts), expected, "{cgroup}");
        };
        let both = [(Hierarchy::Memory1, "/sys/fs/cgroup/memory/a/b"), (Hierarchy::Pids1, "/sys/fs/cgroup/pids")];
        check("8:pids:/\n4:memory:/a/b\n0::/", V1, &both);
        check("4:cpu,memory:/a\n0::/", V1, &[(Hierarchy::Memory1, "/sys/fs/cgroup/memory/a")]);
        check("0::/", V1, &[(Hierarchy::Unified, "/sys/fs/cgroup/unified")]);
        check("0::/user.slice/u1/app", V2, &[(Hierarchy::Unified, "/sys/fs/cgroup/u1/app")]);
        check("0::/elsewhere", V2, &[]);
        check("", "", &[]);
    }

    #[test]
    fn what_is_refused_is_named() {
        let folder = tempfile::tempdir().unwrap();
        // No cgroup file system: a plain folder has no `cgroup.procs`, and no controllers to hand on.
        for hierarchy in [Hierarchy::Memory1, Hierarchy::Unified] {
            let groups = Groups::make(&[(hierarchy, folder.path().to_owned())], 1);
            assert!(groups.words.starts_with(&format!("no cgroup ({}", hierarchy.name())), "{}", groups.words);
            assert!(groups.folders.is_empty() && groups.runner.is_empty());
        }
        assert_eq!(Groups::make(&[], 1).words, "no cgroup (no hierarchy limits memory or processes)");
    }

    #[test]
    fn only_the_dead_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let alive = folder.path().join(format!("{PREFIX}{}-runner", std::process::id()));
        let dead = folder.path().join(format!("{PREFIX}4194305-runner"));
        let other = folder.path().join("somebody-4194305-runner");
        for path in [&alive, &dead, &other] {
            fs::create_dir(path).unwrap();
        }
        sweep(folder.path());
        assert_eq!([alive.exists(), dead.exists(), other.exists()], [true, false, true]);
    }
}
