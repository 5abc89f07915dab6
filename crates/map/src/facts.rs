//! What the system lets this process have: cores, a share of their time, memory, large pages. Read once, then passed
//! on, so that tests can hand in a machine with less.

use crate::group;
use crate::system::{self, Claims};

/// The facts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Facts {
    /// Sizes that the system claims for the caches.
    pub(crate) claims: Claims,
    /// Cores that this process may run on, by the system's numbers.
    pub(crate) cores: Vec<usize>,
    /// Those of them that are threads of the first one's core, itself included.
    pub(crate) siblings: Vec<usize>,
    /// The cores by the node of memory that they are near, the first core's node first.
    pub(crate) nodes: Vec<Vec<usize>>,
    /// Cores' worth of time that a control group allows, where it limits it.
    pub(crate) quota: Option<f64>,
    /// Bytes of memory that can be taken.
    pub(crate) memory: Option<usize>,
    /// Whether the system grants large pages on request, or why not.
    pub(crate) huge: Result<(), String>,
}

impl Facts {
    /// As the system tells them.
    pub(crate) fn read() -> Self {
        let cores = platform::cores();
        let siblings = system::siblings(cores[0]).unwrap_or_default();
        let mut nodes: Vec<Vec<usize>> = system::nodes().unwrap_or_default();
        for node in &mut nodes {
            node.retain(|core| cores.contains(core));
        }
        nodes.retain(|node| !node.is_empty());
        nodes.sort_by_key(|node| !node.contains(&cores[0]));
        Self {
            claims: system::cache_claims(),
            nodes,
            siblings: siblings.into_iter().filter(|thread| cores.contains(thread)).collect(),
            cores,
            quota: group::quota(),
            memory: system::available_memory(),
            huge: platform::huge_pages(),
        }
    }

    /// The cores for figures that all of them take part in, or why there are none.
    pub(crate) fn team(&self) -> Result<&[usize], String> {
        if self.cores.len() < 2 {
            return Err("this process may run on one core only".to_owned());
        }
        match self.quota {
            // A little under the count is a rounding of the group's settings.
            Some(quota) if quota < 0.98 * self.cores.len() as f64 => Err(format!(
                "the control group allows {quota:.2} of {} cores' time, so the cores cannot run at once",
                self.cores.len()
            )),
            _ => Ok(&self.cores),
        }
    }
}

/// What `/sys/kernel/mm/transparent_hugepage/enabled` says: `always [madvise] never`.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "the file is Linux's"))]
fn huge_of(text: Option<&str>) -> Result<(), String> {
    match text {
        None => Err("the system has no transparent huge pages".to_owned()),
        Some(text) if text.contains("[never]") => {
            Err("the system's transparent huge pages are set to never".to_owned())
        }
        Some(_) => Ok(()),
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use super::huge_of;
    use std::fs::read_to_string;

    pub(super) fn cores() -> Vec<usize> {
        // SAFETY: the set is as large as the call is told, and only read after it succeeded.
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
                return vec![0];
            }
            set
        };
        // SAFETY: the index is below the set's size.
        (0..libc::CPU_SETSIZE as usize).filter(|&core| unsafe { libc::CPU_ISSET(core, &set) }).collect()
    }

    pub(super) fn huge_pages() -> Result<(), String> {
        // SAFETY: reads a flag of this process.
        if unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) } == 1 {
            return Err("large pages are turned off for this process".to_owned());
        }
        huge_of(read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok().as_deref())
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    pub(super) fn cores() -> Vec<usize> {
        (0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get)).collect()
    }

    pub(super) fn huge_pages() -> Result<(), String> {
        Err("this system gives no choice of page size".to_owned())
    }
}

#[cfg(test)]
impl Facts {
    /// One core, no claims, no large pages, little memory.
    pub(crate) fn bare() -> Self {
        Self {
            claims: Claims::default(),
            cores: vec![platform::cores()[0]],
            siblings: Vec::new(),
            nodes: Vec::new(),
            quota: None,
            memory: Some(256 << 20),
            huge: Err("none in this test".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_settings_are_read() {
        assert_eq!(huge_of(Some("always [madvise] never\n")), Ok(()));
        assert!(huge_of(Some("always madvise [never]\n")).unwrap_err().contains("never"));
        assert!(huge_of(None).is_err());
    }

    #[test]
    fn a_team_needs_cores_and_their_time() {
        let facts = |n: usize, quota: Option<f64>| Facts { cores: (0..n).collect(), quota, ..Facts::bare() };
        assert_eq!(facts(4, None).team().map(<[usize]>::len), Ok(4));
        assert_eq!(facts(4, Some(4.0)).team().map(<[usize]>::len), Ok(4));
        assert!(facts(4, Some(1.5)).team().unwrap_err().contains("1.50 of 4"));
        assert!(facts(1, None).team().unwrap_err().contains("one core"));
        assert!(!Facts::read().cores.is_empty());
    }
}
