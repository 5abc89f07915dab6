//! Which core is whose: the judge's, the runners', those of a pool's threads.
//!
//! Must not share one before there are none left, and must say so when it does.

use std::sync::OnceLock;
use std::time::Duration;

/// Shortest batch: from here on the handshake (9 us to continue, 0.4 us to see it done) is below 0.3 % with a spread
/// far below that.
const BATCH: Duration = Duration::from_micros(300);
/// Shortest batch where the judge shares its core with a candidate, and the scheduler is part of every batch.
const BATCH_SHARED: Duration = Duration::from_millis(10);

/// Where the judge and the candidates run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// The judge's.
    pub judge: usize,
    /// The runners', where their calling thread is pinned; none on a machine with one core.
    pub runner: Option<usize>,
    /// One for each thread of a candidate's pool.
    pub pool: Vec<usize>,
}

impl Cores {
    /// Divides the cores that this process may use.
    ///
    /// # Errors
    /// When a pool of `threads` threads has no room: it needs one core more than it has threads. What to do is said.
    pub fn detect(threads: usize) -> Result<Self, String> {
        Self::divide(allowed(), threads)
    }

    fn divide(allowed: &[usize], threads: usize) -> Result<Self, String> {
        let count = allowed.len();
        let judge = allowed.first().copied().unwrap_or(0);
        let runner = allowed.last().copied().filter(|core| *core != judge);
        if threads == 0 {
            return Ok(Self { judge, runner, pool: Vec::new() });
        }
        if count < threads + 1 {
            let lower = match count.saturating_sub(1) {
                0 => "leave `threads` out of problem.toml".to_owned(),
                fit => format!("write `threads = {fit}` into problem.toml"),
            };
            let s = |n: usize| if n == 1 { "" } else { "s" };
            return Err(format!(
                "the problem's pool of {threads} thread{} needs {} cores, one for each and one for the thread that calls; \
                 this process may use {count}: give it more, or {lower}",
                s(threads),
                threads + 1
            ));
        }
        // The judge's core is the last to be shared.
        let last = count - 1;
        Ok(Self { judge, runner, pool: allowed[last - threads..last].to_vec() })
    }

    /// Whether a thread of a candidate runs on the judge's core. Then a judge that spins would take its time, or wait for
    /// it for ever.
    pub fn are_shared(&self) -> bool {
        self.runner.is_none() || self.pool.contains(&self.judge)
    }

    /// Calls that make a batch long enough to time, where one takes `call`; `most` is what the memory has room for.
    pub fn calls(&self, call: Duration, most: usize) -> usize {
        let shortest = if self.are_shared() { BATCH_SHARED } else { BATCH };
        let wanted = shortest.as_secs_f64() / call.as_secs_f64().max(1e-9);
        (wanted.ceil() as usize).clamp(1, most)
    }

    /// What people should know, and what to do about it.
    pub fn warning(&self) -> Option<String> {
        if self.runner.is_none() {
            return Some(
                "one core: judge and runner share it, so batches are 10 ms and more and the noise is larger; give it two"
                    .to_owned(),
            );
        }
        self.are_shared().then(|| {
            format!(
                "{} cores: the judge shares its own with a thread of the pool, so batches are 10 ms and more and the noise \
                 is larger; give it one more",
                self.pool.len() + 1
            )
        })
    }

    /// Pins the calling process to the judge's core; where that is shared, its short sleeps are short.
    pub fn pin(&self) {
        // SAFETY: plain system calls on a local set.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(self.judge, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
            if self.are_shared() {
                // The kernel adds up to 50 us to a sleep unless it is asked not to.
                libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
            }
        }
    }
}

/// The cores that this process may use, as they were before it pinned itself.
fn allowed() -> &'static [usize] {
    static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();
    // SAFETY: plain system calls on a local set.
    ALLOWED.get_or_init(|| unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &set)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_divided() {
        let check = |allowed: &[usize], threads, judge, runner, pool: &[usize], are_shared: bool| {
            let cores = Cores::divide(allowed, threads).unwrap();
            assert_eq!(cores, Cores { judge, runner, pool: pool.to_vec() }, "{allowed:?}, {threads} threads");
            assert_eq!(cores.are_shared(), are_shared, "{allowed:?}, {threads} threads");
            assert_eq!(cores.warning().is_some(), are_shared);
        };
        check(&[0], 0, 0, None, &[], true);
        check(&[3, 5], 0, 3, Some(5), &[], false);
        check(&[0, 1, 2, 3], 0, 0, Some(3), &[], false);
        check(&[0, 1], 1, 0, Some(1), &[0], true);
        check(&[0, 1, 2], 1, 0, Some(2), &[1], false);
        check(&[0, 1, 2], 2, 0, Some(2), &[0, 1], true);
        check(&[4, 5, 6, 7, 9], 2, 4, Some(9), &[6, 7], false);
    }

    #[test]
    fn too_few_cores_are_refused_with_the_fix() {
        let refused = |allowed: &[usize], threads| Cores::divide(allowed, threads).unwrap_err();
        insta::assert_snapshot!(refused(&[0, 1], 3), @"the problem's pool of 3 threads needs 4 cores, one for each and one for the thread that calls; this process may use 2: give it more, or write `threads = 1` into problem.toml");
        insta::assert_snapshot!(refused(&[0], 1), @"the problem's pool of 1 thread needs 2 cores, one for each and one for the thread that calls; this process may use 1: give it more, or leave `threads` out of problem.toml");
    }

    #[test]
    fn a_judge_that_has_pinned_itself_still_sees_its_cores() {
        let looks = || {
            let first = Cores::detect(0).unwrap();
            first.pin();
            (first, Cores::detect(0).unwrap())
        };
        let (first, second) = std::thread::spawn(looks).join().unwrap();
        assert_eq!(first, second);
    }
}
