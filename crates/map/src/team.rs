//! Several cores at once: pinned threads that start together, each with its own load and its own clock.
//!
//! Must not leave a thread behind: every one has ended when a function here returns.

use crate::clock::Wall;
use crate::rig::{Rig, WINDOW};
use crate::summary::Summary;
use model::{Interval, Seconds};
use std::sync::Barrier;

/// Work for one member: does as many units as it is told.
pub(crate) type Load<'a> = Box<dyn FnMut(u64) + 'a>;

/// Binds the calling thread to a core; whether the system let it.
#[cfg(target_os = "linux")]
pub(crate) fn pin(core: usize) -> bool {
    // SAFETY: the set is ours, and the call is told its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0
    }
}

/// This system binds no thread.
#[cfg(not(target_os = "linux"))]
pub(crate) fn pin(_: usize) -> bool {
    false
}

/// Something that members of a team use while its owner waits for them: one alone, or each its own part.
pub(crate) struct Lent<'a, T>(pub(crate) &'a T);
// SAFETY: the owner waits, and no two members use the same part.
unsafe impl<T> Sync for Lent<'_, T> {}

impl<'a, T> Lent<'a, T> {
    /// What was lent.
    pub(crate) fn get(&self) -> &'a T {
        self.0
    }
}

/// Runs `work` on a thread of each core at the same time; what each returned, in the cores' order.
pub(crate) fn together<T: Send>(cores: &[usize], work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let members: Vec<_> = cores
            .iter()
            .enumerate()
            .map(|(i, &core)| {
                let work = &work;
                scope.spawn(move || {
                    pin(core);
                    work(i)
                })
            })
            .collect();
        members.into_iter().map(|member| member.join().expect("a member of a team does not panic")).collect()
    })
}

/// Units a second of all cores together, for as long as `budget`: the sum of the members' rates while all of them work.
///
/// `make` builds each member's load on the member's own thread, so that its memory is the core's own.
pub(crate) fn rates<'a>(
    cores: &[usize],
    budget: Seconds,
    make: impl Fn(usize) -> Result<Load<'a>, String> + Sync,
) -> Result<Summary, String> {
    let start = Barrier::new(cores.len());
    let members = together(cores, |i| {
        let mut load = make(i);
        let mut clock = Wall::start();
        let units = match &mut load {
            Ok(load) => Rig { clock: &mut clock, load }.units(WINDOW),
            Err(why) => Err(why.clone()),
        };
        // Everyone waits for everyone, those without a load too.
        start.wait();
        let mut load = load?;
        Rig { clock: &mut clock, load: &mut load }.soak(units?, budget)
    });
    sum(&members.into_iter().collect::<Result<Vec<_>, _>>()?).ok_or_else(|| "no core took part".to_owned())
}

/// The members' rates added up. The ends of the intervals add too, which is wider than independence would allow: what
/// disturbs one core of a shared machine often disturbs all.
fn sum(members: &[Summary]) -> Option<Summary> {
    let add = |a: Interval, b: Interval| Interval { low: a.low + b.low, high: a.high + b.high };
    members.iter().copied().reduce(|a, b| Summary {
        best: a.best + b.best,
        median: a.median + b.median,
        quartiles: add(a.quartiles, b.quartiles),
        middle: add(a.middle, b.middle),
        samples: a.samples + b.samples,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn everyone_works_and_reports() {
        let cores = [0, 0, 0];
        let seen = AtomicUsize::new(0);
        let answers = together(&cores, |i| {
            seen.fetch_add(1, Ordering::Relaxed);
            i * 10
        });
        assert_eq!((answers, seen.into_inner()), (vec![0, 10, 20], 3));
    }

    #[test]
    fn rates_add_up() {
        let one = Summary::of(vec![9.0, 10.0, 11.0]).unwrap();
        let both = sum(&[one, one]).unwrap();
        assert_eq!((both.median, both.best, both.samples), (20.0, 22.0, 6));
        assert_eq!(sum(&[]), None);
    }

    #[test]
    fn one_member_without_a_load_fails_all() {
        let spin = || -> Load<'static> { Box::new(|units| (0..units * 100).for_each(|i| _ = std::hint::black_box(i))) };
        let make = |i: usize| if i == 1 { Err("no such unit".to_owned()) } else { Ok(spin()) };
        assert_eq!(rates(&[0, 0], Seconds(1e-3), make), Err("no such unit".to_owned()));
        assert!(rates(&[0, 0], Seconds(1e-3), |_| Ok(spin())).unwrap().median > 0.0);
    }
}
