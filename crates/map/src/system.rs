//! What the operating system says about the machine. Claims, not measurements: a VM lies about its last level.

/// Sizes that the system claims for one core's caches, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) l1: Option<usize>,
    pub(crate) l2: Option<usize>,
    pub(crate) last: Option<usize>,
}

/// The cores' time since the system started, in its own ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    /// Given to others by the hypervisor.
    pub(crate) stolen: u64,
    /// Spent on programs, this one's processes included.
    pub(crate) busy: u64,
    /// Spent on this process and on those that it has waited for.
    pub(crate) own: u64,
    /// All of it.
    pub(crate) all: u64,
}

/// From the first line of `/proc/stat`: user nice system idle iowait irq softirq steal guest guest_nice; the last two
/// are in the first two already. `own` is left at nothing.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "the file is Linux's"))]
fn ticks_of(stat: &str) -> Option<Ticks> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, _, _, irq, softirq, stolen] = ticks[..] else { return None };
    Some(Ticks { stolen, busy: user + nice + system + irq + softirq, own: 0, all: ticks.iter().sum() })
}

/// What a list such as `0-3,8` names.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "the lists are Linux's"))]
fn list_of(list: &str) -> Option<Vec<usize>> {
    let part = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.parse::<usize>().ok()?, to.parse::<usize>().ok()?);
        (from <= to).then_some(from..=to)
    };
    Some(list.trim().split(',').map(part).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
}

pub(crate) use platform::{available_memory, cache_claims, clock_source, cpu_name, nodes, siblings, ticks};

/// Release of the kernel.
#[cfg(unix)]
pub(crate) fn kernel_release() -> String {
    // SAFETY: uname fills the structure with terminated strings.
    unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        if libc::uname(&raw mut name) != 0 {
            return String::from("unknown");
        }
        std::ffi::CStr::from_ptr(name.release.as_ptr()).to_string_lossy().into_owned()
    }
}

/// Release of the kernel.
#[cfg(not(unix))]
pub(crate) fn kernel_release() -> String {
    String::from("unknown")
}

/// `48K`, `300M`, `4096` in bytes.
pub(crate) fn bytes_of(text: &str) -> Option<usize> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    Some(digits.parse::<usize>().ok()?.checked_mul(unit)?).filter(|&bytes| bytes > 0)
}

#[cfg(target_os = "linux")]
mod platform {
    use super::{Claims, Ticks, bytes_of, list_of, ticks_of};
    use crate::group;
    use std::fs::read_to_string;

    /// The cores of each node of memory that the system shows.
    pub(crate) fn nodes() -> Option<Vec<Vec<usize>>> {
        let nodes = list_of(&read_to_string("/sys/devices/system/node/online").ok()?)?;
        let cores = |node| list_of(&read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).ok()?);
        Some(nodes.into_iter().map(|node| cores(node).unwrap_or_default()).collect())
    }

    /// The threads of a thread's core, itself included, as the system numbers and shows them.
    pub(crate) fn siblings(core: usize) -> Option<Vec<usize>> {
        list_of(&read_to_string(format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")).ok()?)
    }

    /// What the system reads its clock from.
    pub(crate) fn clock_source() -> Option<String> {
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        Some(read_to_string(file).ok()?.trim().to_owned())
    }

    /// The cores' time so far.
    pub(crate) fn ticks() -> Option<Ticks> {
        let ticks = ticks_of(&read_to_string("/proc/stat").ok()?)?;
        Some(Ticks { own: own_ticks(), ..ticks })
    }

    fn own_ticks() -> u64 {
        let spent = |who: libc::c_int| {
            // SAFETY: the structure is ours, and the call fills it.
            let usage = unsafe {
                let mut usage: libc::rusage = std::mem::zeroed();
                libc::getrusage(who, &raw mut usage);
                usage
            };
            let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
            seconds(usage.ru_utime) + seconds(usage.ru_stime)
        };
        // SAFETY: reads a number.
        let each_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        ((spent(libc::RUSAGE_SELF) + spent(libc::RUSAGE_CHILDREN)) * each_second as f64) as u64
    }

    /// The processor as the system names it.
    pub(crate) fn cpu_name() -> String {
        let info = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line = info.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        // Arm has no name, but an implementer and a part.
        let arm = || Some(format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?));
        field("model name").or_else(arm).unwrap_or_else(|| String::from("unknown"))
    }

    /// The first core's caches.
    pub(crate) fn cache_claims() -> Claims {
        let mut claims = Claims::default();
        for index in 0..8 {
            let read = |file: &str| {
                read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}"))
                    .map(|text| text.trim().to_owned())
            };
            let (Ok(level), Ok(kind), Ok(size)) = (read("level"), read("type"), read("size")) else { continue };
            let slot = match (level.as_str(), kind.as_str()) {
                ("1", "Data" | "Unified") => &mut claims.l1,
                ("2", "Data" | "Unified") => &mut claims.l2,
                ("3" | "4", _) => &mut claims.last,
                _ => continue,
            };
            *slot = bytes_of(&size);
        }
        claims
    }

    /// Bytes that can be taken without swapping, the control group's limit included.
    pub(crate) fn available_memory() -> Option<usize> {
        let info = read_to_string("/proc/meminfo").ok()?;
        let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        let free = line.trim().trim_end_matches("kB").trim().parse::<usize>().ok()? << 10;
        Some(free.min(group::memory().unwrap_or(usize::MAX)))
    }
}

#[cfg(target_os = "macos")]
mod platform {
    use super::{Claims, Ticks};
    use std::ffi::CStr;

    /// Not told here.
    pub(crate) fn ticks() -> Option<Ticks> {
        None
    }

    /// Not told here.
    pub(crate) fn nodes() -> Option<Vec<Vec<usize>>> {
        None
    }

    /// Not told here.
    pub(crate) fn siblings(_: usize) -> Option<Vec<usize>> {
        None
    }

    /// Not told here.
    pub(crate) fn clock_source() -> Option<String> {
        None
    }

    fn ask(name: &CStr, answer: &mut [u8]) -> Option<usize> {
        let mut bytes = answer.len();
        // SAFETY: the length is the buffer's.
        let failed = unsafe {
            libc::sysctlbyname(name.as_ptr(), answer.as_mut_ptr().cast(), &raw mut bytes, std::ptr::null_mut(), 0)
        };
        (failed == 0).then_some(bytes)
    }

    fn number(name: &CStr) -> Option<usize> {
        let mut answer = [0; 8];
        ask(name, &mut answer)?;
        Some(u64::from_le_bytes(answer) as usize).filter(|&n| n > 0)
    }

    /// The processor as the system names it.
    pub(crate) fn cpu_name() -> String {
        let mut answer = [0; 256];
        let name = ask(c"machdep.cpu.brand_string", &mut answer)
            .and_then(|_| CStr::from_bytes_until_nul(&answer).ok())
            .map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| String::from("unknown"))
    }

    /// The fast cores' caches; the chip-wide cache is not told.
    pub(crate) fn cache_claims() -> Claims {
        Claims { l1: number(c"hw.perflevel0.l1dcachesize"), l2: number(c"hw.perflevel0.l2cachesize"), last: None }
    }

    /// Half of the memory: the rest is the system's and the user's.
    pub(crate) fn available_memory() -> Option<usize> {
        Some(number(c"hw.memsize")? / 2)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod platform {
    use super::{Claims, Ticks};

    /// Not told here.
    pub(crate) fn ticks() -> Option<Ticks> {
        None
    }

    /// Not told here.
    pub(crate) fn nodes() -> Option<Vec<Vec<usize>>> {
        None
    }

    /// Not told here.
    pub(crate) fn siblings(_: usize) -> Option<Vec<usize>> {
        None
    }

    /// Not told here.
    pub(crate) fn clock_source() -> Option<String> {
        None
    }

    /// Unknown here.
    pub(crate) fn cpu_name() -> String {
        String::from("unknown")
    }

    /// Unknown here.
    pub(crate) fn cache_claims() -> Claims {
        Claims::default()
    }

    /// Unknown here.
    pub(crate) fn available_memory() -> Option<usize> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let check = |text, expected| assert_eq!(bytes_of(text), expected, "{text}");
        check("48K\n", Some(49_152));
        check("300M", Some(300 << 20));
        check("4096", Some(4096));
        check("max", None);
        check("", None);
        check("0K", None);
        check("K", None);
    }

    #[test]
    fn lists_are_read() {
        let check = |list, expected: Option<&[usize]>| assert_eq!(list_of(list).as_deref(), expected, "{list}");
        check("0\n", Some(&[0]));
        check("0-3,8\n", Some(&[0, 1, 2, 3, 8]));
        check("0,2", Some(&[0, 2]));
        check("", None);
        check("3-1", None);
    }

    #[test]
    fn ticks_are_read() {
        let stat = "cpu  100 0 50 800 10 0 5 35 0 0\ncpu0 1 2 3\n";
        assert_eq!(ticks_of(stat), Some(Ticks { stolen: 35, busy: 155, own: 0, all: 1000 }));
        assert_eq!(ticks_of("intr 5"), None);
        assert_eq!(ticks_of("cpu  1 2 3"), None);
    }
}
