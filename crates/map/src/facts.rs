//! What the system lets this process have: cores, a share of their time, memory, large pages. Read once, then passed
//! on, so that tests can hand in a machine with less.

use crate::system::{self, Claims};

/// The facts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Facts {
    /// Sizes that the system claims for the caches.
    pub(crate) claims: Claims,
    /// Cores that this process may run on, by the system's numbers.
    pub(crate) cores: Vec<usize>,
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
        Self {
            claims: system::cache_claims(),
            cores: platform::cores(),
            quota: platform::quota(),
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

/// Cores' worth of time from `cpu.max` (control groups, version 2): `max 100000` or `150000 100000`.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "control groups are Linux's"))]
fn quota_of(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let (quota, period) = (words.next()?.parse::<f64>().ok()?, words.next()?.parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
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
    use super::{huge_of, quota_of};
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

    pub(super) fn quota() -> Option<f64> {
        let second = read_to_string("/sys/fs/cgroup/cpu.max").ok().and_then(|text| quota_of(&text));
        let first = || {
            let read = |file: &str| read_to_string(format!("/sys/fs/cgroup/cpu/{file}")).ok();
            quota_of(&format!("{} {}", read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?))
        };
        second.or_else(first)
    }

    pub(super) fn huge_pages() -> Result<(), String> {
        huge_of(read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok().as_deref())
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    pub(super) fn cores() -> Vec<usize> {
        (0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get)).collect()
    }

    pub(super) fn quota() -> Option<f64> {
        None
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
    fn quotas_are_read() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(quota_of(text), expected, "{text}");
        check("max 100000\n", None);
        check("150000 100000\n", Some(1.5));
        check("-1\n 100000\n", None);
        check("", None);
    }

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
