//! Where the threads of a stopped runner stand, as the kernel reports it.
//!
//! For candidates with a pool: that a batch is reported done says nothing of the other threads, and what the runner says
//! of them lies within the candidate's reach. Must not be asked while the runner runs.

use std::fs;
use std::io;
use std::time::Duration;

/// Looks at a thread that the kernel has not put aside yet, some microseconds after its process was stopped.
const LOOKS: usize = 200;
/// Between two of them.
const PAUSE: Duration = Duration::from_micros(50);

/// The instructions of a runner that serve batches: a thread that stands there does nothing of a candidate's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ground {
    /// The first address.
    pub begin: u64,
    /// Behind the last.
    pub end: u64,
}

impl Ground {
    /// How many threads of `pid` there are, and how many of them stand elsewhere.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn look(self, pid: i32) -> io::Result<(usize, usize)> {
        let mut threads = 0;
        let mut astray = 0;
        for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
            let path = entry?.path().join("syscall");
            threads += 1;
            astray += usize::from(!self.holds(place(|| fs::read_to_string(&path))?));
        }
        Ok((threads, astray))
    }

    fn holds(self, place: u64) -> bool {
        (self.begin..self.end).contains(&place)
    }
}

/// The address of a thread's next instruction, from the kernel's line on it.
fn place(mut read: impl FnMut() -> io::Result<String>) -> io::Result<u64> {
    for _ in 0..LOOKS {
        if let Some(place) = last_field(&read()?) {
            return Ok(place);
        }
        std::thread::sleep(PAUSE);
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "a stopped thread is still running"))
}

/// `running`, or the number of a system call (-1 outside any) and what belongs to it, stack pointer and instruction last.
fn last_field(line: &str) -> Option<u64> {
    u64::from_str_radix(line.split_whitespace().next_back()?.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel() {
        let check = |line: &str, expected| assert_eq!(last_field(line), expected, "{line}");
        check("-1 0x7ffe314b63b8 0x7f55fa2e72ad\n", Some(0x7f55_fa2e_72ad));
        check("0 0x3 0x7f55fa16f000 0x20000 0x0 0x0 0x0 0x7ffe314b63b8 0x10\n", Some(0x10));
        check("running\n", None);
        check("", None);
    }

    #[test]
    fn a_thread_is_waited_for() {
        let mut lines = ["running", "running", "-1 0x1 0x20"].into_iter();
        assert_eq!(place(|| Ok(lines.next().unwrap().to_owned())).unwrap(), 0x20);
        assert!(place(|| Ok("running".to_owned())).is_err());
        assert!(place(|| Err(io::Error::from(io::ErrorKind::NotFound))).is_err());
    }

    #[test]
    fn the_edges_of_the_ground() {
        let ground = Ground { begin: 16, end: 32 };
        let check = |place, expected| assert_eq!(ground.holds(place), expected, "{place}");
        check(15, false);
        check(16, true);
        check(31, true);
        check(32, false);
    }
}
