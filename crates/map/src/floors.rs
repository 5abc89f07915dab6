//! What the smallest things cost: a call, a system call, a wake-up, a thread, a process, a page; and what a load costs
//! right after a store. Floors of any software that does them.

use crate::rig::Rig;
use crate::summary::Summary;
use crate::{Session, team};
use kernels::Forward;
use model::{Figure, Quantity, Seconds};
use std::hint::black_box;

/// Aim of a window here.
const SHORT: Seconds = Seconds(2e-4);

/// Measures every floor that this system has.
pub(crate) fn measure(session: &mut Session) -> Vec<Figure> {
    (session.progress)("floors");
    let mut figures = Vec::new();
    for (name, method, load) in simple() {
        let result = rate(session, &mut |n| load(n));
        figures.extend(session.noted(name, result).map(|s| s.figure(name, Quantity::Seconds, method)));
    }
    let forms = [
        ("floor.store-forward", Forward::Same, "8 bytes stored, the same 8 loaded, in a chain"),
        ("floor.store-forward.inside", Forward::Inside, "8 bytes stored, the upper 4 loaded, in a chain"),
        ("floor.store-forward.across", Forward::Across, "twice 4 bytes stored, all 8 loaded, in a chain"),
    ];
    for (name, form, method) in forms {
        let result = match kernels::forward(form, 1) {
            Some(_) => rate(session, &mut |n| _ = kernels::forward(form, n * GRAIN)).map(|s| grains(&s)),
            None => Err("no probe on this platform".to_owned()),
        };
        figures.extend(session.noted(name, result).map(|s| s.figure(name, Quantity::Seconds, method)));
    }
    figures.extend(system(session));
    figures
}

/// Operations of a unit of the smallest loads.
const GRAIN: u64 = 16;

/// Seconds an operation, of a load whose unit is [`GRAIN`] operations.
fn grains(per_unit: &Summary) -> Summary {
    per_unit.scaled(1.0 / GRAIN as f64)
}

/// Seconds a unit.
fn rate(session: &mut Session, load: &mut dyn FnMut(u64)) -> Result<Summary, String> {
    let mut rig = Rig { clock: session.clock, load };
    let units = rig.units(SHORT)?;
    Ok(rig.soak(units, session.plan.floor)?.per_unit())
}

type Simple = (&'static str, &'static str, fn(u64));

/// Loads that need nothing but a count.
fn simple() -> Vec<Simple> {
    vec![
        ("floor.thread", "a thread spawned and joined", |n| {
            (0..n).for_each(|_| drop(std::thread::spawn(|| black_box(0)).join()));
        }),
        ("floor.process", "a process that runs /bin/true spawned and waited for", |n| {
            (0..n).for_each(|_| drop(std::process::Command::new("/bin/true").status()));
        }),
    ]
}

/// Calls, and what only some systems have.
fn system(session: &mut Session) -> Vec<Figure> {
    let mut figures = Vec::new();
    let calls: [Simple; 2] = [
        ("floor.call", "a function that does nothing", |n| _ = kernels::calls(n * GRAIN)),
        ("floor.call.indirect", "the same through a pointer", |n| _ = kernels::indirect_calls(n * GRAIN)),
    ];
    for (name, method, load) in calls {
        let result = rate(session, &mut |n| load(n)).map(|s| grains(&s));
        figures.extend(session.noted(name, result).map(|s| s.figure(name, Quantity::Seconds, method)));
    }
    if !std::path::Path::new("/bin/true").exists() {
        figures.retain(|figure: &Figure| figure.name != "floor.process");
        session.missing.push("floor.process: there is no /bin/true".to_owned());
    }
    figures.extend(linux(session));
    figures
}

#[cfg(not(target_os = "linux"))]
fn linux(session: &mut Session) -> Vec<Figure> {
    session.missing.push("floor.syscall, floor.futex, floor.page: measured on Linux only".to_owned());
    Vec::new()
}

#[cfg(target_os = "linux")]
fn linux(session: &mut Session) -> Vec<Figure> {
    let mut figures = Vec::new();
    let calls: [Simple; 2] = [
        ("floor.syscall", "getppid through syscall(2)", |n| {
            // SAFETY: reads a number.
            (0..n).for_each(|_| _ = black_box(unsafe { libc::syscall(libc::SYS_getppid) }));
        }),
        ("floor.futex.none", "FUTEX_WAKE that finds nobody", |n| {
            let word = std::sync::atomic::AtomicU32::new(0);
            (0..n).for_each(|_| futex::wake(&word));
        }),
    ];
    for (name, method, load) in calls {
        let result = rate(session, &mut |n| load(n));
        figures.extend(session.noted(name, result).map(|s| s.figure(name, Quantity::Seconds, method)));
    }
    let wake = session.facts.team().map(|cores| [cores[0], cores[1]]);
    let result = wake.and_then(|cores| futex::round_trip(cores, session.plan.floor));
    let method = "half a round trip of two threads on two cores that wait in FUTEX_WAIT";
    figures.extend(session.noted("floor.futex", result).map(|s| s.figure("floor.futex", Quantity::Seconds, method)));
    for (name, bytes, advice) in
        [("floor.page.4k", 4096, libc::MADV_NOHUGEPAGE), ("floor.page.huge", 2 << 20, libc::MADV_HUGEPAGE)]
    {
        let refused = session.facts.huge.clone().err().filter(|_| name == "floor.page.huge");
        let result = match refused {
            Some(why) => Err(why),
            None => pages::first_touch(session, bytes, advice),
        };
        let method = format!("first touch of {} KiB of fresh anonymous memory, by its page", bytes >> 10);
        figures.extend(session.noted(name, result).map(|s| s.figure(name, Quantity::Seconds, method)));
    }
    figures
}

#[cfg(target_os = "linux")]
mod futex {
    use super::{Rig, SHORT, Summary, team};
    use crate::clock::Wall;
    use model::Seconds;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    /// Wakes one who waits on the word.
    pub(super) fn wake(word: &AtomicU32) {
        // SAFETY: the word outlives the call.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) };
    }

    /// Waits until the word is `wanted`.
    fn wait(word: &AtomicU32, wanted: u32) {
        loop {
            let seen = word.load(Ordering::Acquire);
            if seen == wanted {
                return;
            }
            let nothing = std::ptr::null::<libc::timespec>();
            let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: the word outlives the call, which returns at once where its value has changed.
            unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, seen, nothing) };
        }
    }

    /// Half a round trip between two cores.
    pub(super) fn round_trip(cores: [usize; 2], budget: Seconds) -> Result<Summary, String> {
        let (ball, over) = (AtomicU32::new(0), AtomicBool::new(false));
        let mut answers = team::together(&cores, |member| {
            if member == 1 {
                while !over.load(Ordering::Acquire) {
                    wait(&ball, 1);
                    ball.store(0, Ordering::Release);
                    wake(&ball);
                }
                return None;
            }
            let mut load = |n: u64| {
                for _ in 0..n {
                    ball.store(1, Ordering::Release);
                    wake(&ball);
                    wait(&ball, 0);
                }
            };
            let mut clock = Wall::start();
            let mut rig = Rig { clock: &mut clock, load: &mut load };
            let result = rig.units(SHORT).and_then(|units| rig.soak(units, budget));
            // One more ball for the other to see that it is over.
            over.store(true, Ordering::Release);
            load(1);
            Some(result)
        });
        answers.swap_remove(0).ok_or("the first member answers")?.map(|summary| summary.per_unit().scaled(0.5))
    }
}

#[cfg(target_os = "linux")]
mod pages {
    use super::{Session, Summary};
    use crate::arena::huge_bytes;

    /// Bytes of a mapping: enough pages for one reading of the clock.
    const REGION: usize = 16 << 20;
    /// Mappings at least.
    const LEAST: usize = 5;

    /// Seconds a page when every page of fresh mappings is touched once.
    pub(super) fn first_touch(session: &mut Session, page: usize, advice: libc::c_int) -> Result<Summary, String> {
        let start = session.clock.now().0;
        let mut times = Vec::new();
        while times.len() < LEAST || session.clock.now().0 - start < session.plan.floor.0 {
            let region = Region::map(advice)?;
            let begun = session.clock.now().0;
            for offset in (0..REGION).step_by(page) {
                // SAFETY: inside the usable part of the mapping.
                unsafe { region.start.add(offset).write_volatile(1) };
            }
            times.push((session.clock.now().0 - begun) / (REGION / page) as f64);
            if times.len() == 1 && page > SMALL && region.is_small() {
                return Err("the system granted no large pages".to_owned());
            }
        }
        Summary::of(times).ok_or_else(|| "no mapping".to_owned())
    }

    /// A fresh mapping, aligned to 2 MiB.
    struct Region {
        whole: *mut libc::c_void,
        start: *mut u8,
    }

    const SLACK: usize = 2 << 20;
    const SMALL: usize = 4096;

    impl Region {
        fn map(advice: libc::c_int) -> Result<Self, String> {
            // SAFETY: an anonymous mapping touches nothing that is there.
            let whole = unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
                libc::mmap(std::ptr::null_mut(), REGION + SLACK, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
            };
            if whole == libc::MAP_FAILED {
                return Err("no memory for a mapping".to_owned());
            }
            let start = whole.cast::<u8>().wrapping_add((whole as usize).next_multiple_of(SLACK) - whole as usize);
            // SAFETY: inside the mapping.
            unsafe { libc::madvise(start.cast(), REGION, advice) };
            Ok(Self { whole, start })
        }

        /// Whether the system put it on small pages, now that it was touched; false where it does not tell.
        fn is_small(&self) -> bool {
            let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
            huge_bytes(&smaps, self.start as usize).is_some_and(|bytes| bytes < REGION / 2)
        }
    }

    impl Drop for Region {
        fn drop(&mut self) {
            // SAFETY: mapped with this length.
            unsafe { libc::munmap(self.whole, REGION + SLACK) };
        }
    }
}
