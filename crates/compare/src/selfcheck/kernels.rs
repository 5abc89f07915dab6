//! What the self-validation times: a kernel bound by the core, one bound by memory, a neighbour that disturbs both, and
//! a clock made of numbers. Decides nothing.

use stats::{SplitMix, normal_quantile};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Something that takes about as long as it has work.
pub trait Clock {
    /// For tables.
    fn name(&self) -> String;
    /// Seconds of `work`, where 1.0 is the base arm's.
    fn time(&mut self, work: f64) -> f64;
}

/// A chain of dependent integer steps: nothing but the core's clock matters.
pub struct CpuBound {
    steps: f64,
    state: u64,
}

/// Seconds that one call aims at: 10,000 times the clock's cost, short enough for hundreds of pairs.
pub const CALL_SECONDS: f64 = 0.3e-3;

impl CpuBound {
    /// Sized for this machine.
    pub fn new() -> Self {
        let mut kernel = Self { steps: 10_000.0, state: 1 };
        kernel.steps *= CALL_SECONDS / fastest(&mut kernel);
        kernel
    }
}

impl Default for CpuBound {
    fn default() -> Self {
        Self::new()
    }
}

/// Best of a few calls: for sizing only.
fn fastest(clock: &mut dyn Clock) -> f64 {
    (0..20).map(|_| clock.time(1.0)).fold(f64::INFINITY, f64::min).max(1e-9)
}

impl Clock for CpuBound {
    fn name(&self) -> String {
        "CPU-bound".to_owned()
    }

    fn time(&mut self, work: f64) -> f64 {
        let steps = (self.steps * work) as u64;
        let mut state = black_box(self.state);
        let begun = Instant::now();
        for _ in 0..steps {
            // xorshift: no compiler can fold two steps into one, and nothing leaves the registers.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        let seconds = begun.elapsed().as_secs_f64();
        self.state = black_box(state);
        seconds
    }
}

/// Sums of a buffer that no cache holds, a stretch a call.
pub struct MemoryBound {
    words: Vec<u64>,
    stretch: f64,
    position: usize,
}

/// Larger than the last-level cache of a virtual machine's share; the stretch wanders through it.
const BUFFER_BYTES: usize = 256 << 20;

impl MemoryBound {
    /// Sized for this machine.
    pub fn new() -> Self {
        // Written, or the kernel would map one page of zeros everywhere.
        let words = (0..BUFFER_BYTES as u64 / 8).collect();
        let mut kernel = Self { words, stretch: 32_768.0, position: 0 };
        kernel.stretch *= CALL_SECONDS / fastest(&mut kernel);
        kernel
    }
}

impl Default for MemoryBound {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MemoryBound {
    fn name(&self) -> String {
        "memory-bound".to_owned()
    }

    fn time(&mut self, work: f64) -> f64 {
        let length = ((self.stretch * work) as usize).min(self.words.len());
        if self.position + length > self.words.len() {
            self.position = 0;
        }
        let stretch = &self.words[self.position..self.position + length];
        self.position += length;
        let begun = Instant::now();
        // One word a cache line: the rest of the line comes for nothing.
        let sum = stretch.iter().step_by(8).fold(0_u64, |sum, word| sum.wrapping_add(*word));
        let seconds = begun.elapsed().as_secs_f64();
        black_box(sum);
        seconds
    }
}

/// A thread that computes and streams in bursts until it is dropped.
pub struct NoisyNeighbour {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NoisyNeighbour {
    /// Starts it.
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let its_stop = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut random = SplitMix::new(1);
            let mut buffer = vec![1_u64; 8 << 20];
            while !its_stop.load(Ordering::Relaxed) {
                let burst = Duration::from_micros(500 + random.below(5_000) as u64);
                let begun = Instant::now();
                while begun.elapsed() < burst {
                    let at = random.below(buffer.len() - 4096);
                    buffer[at..at + 4096].iter_mut().for_each(|word| *word = word.wrapping_mul(3));
                }
                std::thread::sleep(Duration::from_micros(500 + random.below(5_000) as u64));
            }
            black_box(buffer);
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for NoisyNeighbour {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Noise from numbers: normal, on a random walk, with an outlier in fifty.
pub struct SimulatedClock {
    sigma: f64,
    drift: f64,
    walk: f64,
    random: SplitMix,
}

impl SimulatedClock {
    /// `sigma` of ln time a run, `drift` the step of the random walk a run.
    pub fn new(sigma: f64, drift: f64, seed: u64) -> Self {
        Self { sigma, drift, walk: 0.0, random: SplitMix::new(seed) }
    }

    fn normal(&mut self) -> f64 {
        normal_quantile(self.random.unit().max(1e-12))
    }
}

impl Clock for SimulatedClock {
    fn name(&self) -> String {
        "simulated".to_owned()
    }

    fn time(&mut self, work: f64) -> f64 {
        self.walk += self.drift * self.normal();
        let outlier = if self.random.below(50) == 0 { 0.3 } else { 0.0 };
        1e-3 * work * (self.sigma * self.normal() + self.walk + outlier).exp()
    }
}
