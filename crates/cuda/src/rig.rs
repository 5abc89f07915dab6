//! A device under measurement: its modules, its records, and one launch timed by events, by the wall and by itself.
//!
//! Must not decide what a figure is; it holds the clocks.

use crate::driver::{Buffer, Context, Device, Event, Function, Launch, Module, Stream};
use crate::error::CudaError;
use crate::nvml::Monitor;
use crate::oracle::drawn;
use crate::plan::{Effort, Plan};
use crate::random::Random;
use crate::{nvrtc, source};
use model::Finding;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

/// Bytes of a block's record, as in `prelude.cu`.
const RECORD: usize = 32;
/// Blocks whose records are read; no probe that writes records has more.
const RECORDS: usize = 4096;
/// Bytes for records and for what a probe writes behind them.
const OUTPUT: usize = 96 << 20;
/// How far twice the work may be from twice the time.
const PROPORTION: f64 = 0.05;
/// Repeats are raised up to here to fill a window.
const MOST_REPEATS: u64 = 1 << 34;

/// Everything that the probes share.
pub(crate) struct Session<'a> {
    pub(crate) device: Device,
    pub(crate) context: Rc<Context>,
    pub(crate) stream: Stream,
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) output: Buffer,
    pub(crate) missing: Vec<String>,
    pub(crate) findings: Vec<Finding>,
    /// Which round of the probes this is, from 0.
    pub(crate) round: usize,
    /// Clocks, power and temperature, where they can be read.
    pub(crate) monitor: Option<Monitor>,
    modules: BTreeMap<&'static str, Rc<Module>>,
    events: [Event; 2],
    progress: &'a mut dyn FnMut(&str),
}

/// A launch, all but its repeats.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) function: Function,
    pub(crate) launch: Launch,
    /// The address of the input.
    pub(crate) input: u64,
    pub(crate) n: u64,
    pub(crate) seed: u64,
    pub(crate) extra: u64,
}

/// What one launch took, and what it computed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shot {
    /// Seconds between two events around it.
    pub(crate) event: f64,
    /// Seconds from before it was queued until its end was known.
    pub(crate) wall: f64,
    /// Cycles of the slowest block.
    pub(crate) cycles: f64,
    /// Seconds by the device's own timer, from the first block's start to the last one's end.
    pub(crate) timer: f64,
    /// Sum of the blocks' checksums.
    pub(crate) sum: u32,
}

/// Machine code of a source of this name and text for an architecture.
pub(crate) type Compile = fn(&str, &str, &str) -> Result<Vec<u8>, CudaError>;

impl<'a> Session<'a> {
    /// Opens the device and compiles the probes for it.
    pub(crate) fn open(device: &Device, effort: Effort, progress: &'a mut dyn FnMut(&str)) -> Result<Self, CudaError> {
        Self::with(device, effort.plan(), nvrtc::compile, progress)
    }

    /// The same by another compiler.
    pub(crate) fn with(
        device: &Device,
        plan: Plan,
        compile: Compile,
        progress: &'a mut dyn FnMut(&str),
    ) -> Result<Self, CudaError> {
        if device.capability < source::LEAST {
            let [major, minor] = device.capability;
            let [least, _] = source::LEAST;
            let what = format!("{} has compute capability {major}.{minor}: the probes want {least}.0", device.name);
            return Err(CudaError::Wrong(what));
        }
        progress("compiling the probes");
        let context = Context::open(device)?;
        let mut modules = BTreeMap::new();
        for name in source::modules(device.capability) {
            let text = source::text(name, device.capability);
            let cubin = compile(name, &text, &source::architecture(device.capability))?;
            modules.insert(name, Module::load(&context, &cubin)?);
        }
        let (monitor, missing) = match Monitor::open(&device.uuid) {
            Ok(monitor) => (Some(monitor), Vec::new()),
            Err(why) => (None, vec![format!("clocks, power and temperature under load, by NVML: {why}")]),
        };
        Ok(Self {
            device: device.clone(),
            stream: Stream::new(&context)?,
            plan,
            random: Random::from_entropy(),
            output: Buffer::new(&context, OUTPUT)?,
            missing,
            findings: Vec::new(),
            round: 0,
            monitor,
            modules,
            events: [Event::new(&context)?, Event::new(&context)?],
            progress,
            context,
        })
    }

    /// Says what comes next.
    pub(crate) fn say(&mut self, what: &str) {
        (self.progress)(what);
    }

    /// The value, or none and a line in `missing`.
    pub(crate) fn noted<T>(&mut self, what: &str, result: Result<T, CudaError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(why) => {
                self.lacks(format!("{what}: {why}"));
                None
            }
        }
    }

    /// Notes what is missing, once for all rounds.
    pub(crate) fn lacks(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.missing.contains(&what) {
            self.missing.push(what);
        }
    }

    /// A kernel; a module that this device does not have is an error.
    pub(crate) fn function(&self, module: &str, kernel: &str) -> Result<Function, CudaError> {
        let absent = || CudaError::Wrong(format!("this device has no `{module}`"));
        self.modules.get(module).ok_or_else(absent)?.function(kernel)
    }

    /// A kernel of so many blocks and threads, with what most probes need of the rest.
    pub(crate) fn load(&mut self, module: &str, kernel: &str, shape: [u32; 2]) -> Result<Load, CudaError> {
        let [blocks, threads] = shape;
        let launch = Launch { blocks, threads, shared: 0 };
        let seed = self.random.bits() >> 1;
        Ok(Load { function: self.function(module, kernel)?, launch, input: 0, n: 0, seed, extra: 0 })
    }

    /// Memory of the device.
    pub(crate) fn buffer(&self, bytes: usize) -> Result<Buffer, CudaError> {
        Buffer::new(&self.context, bytes)
    }

    /// Fills a buffer with random words of 8 bytes, of which `keep` says the bits to draw and `set` those to set.
    /// Returns the seed of the draw.
    pub(crate) fn fill(&mut self, buffer: &Buffer, [keep, set]: [u64; 2]) -> Result<u64, CudaError> {
        let load = self.load("memory", "fill", [self.device.multiprocessors * 8, 256])?;
        let arguments = [keep, buffer.address(), buffer.bytes() as u64, set, load.seed, 0];
        self.timed(|stream| load.function.launch(stream, load.launch, &arguments))?;
        Ok(load.seed)
    }

    /// Holds what fills buffers and what sums them against the host, on a small one: reads are checked by these sums.
    pub(crate) fn prove_sums(&mut self) -> Result<(), CudaError> {
        /// Bytes of the small one.
        const SMALL: u64 = 1 << 20;
        let (buffer, masks) = (self.buffer(SMALL as usize)?, [0xF0FF_FF0F_3FFF_FFFF, 0x0001_0000_0000_0040]);
        let seed = self.fill(&buffer, masks)?;
        let (found, expected) = (self.sum(buffer.address(), SMALL)?, drawn(seed, SMALL / 8, masks));
        if found == expected {
            return Ok(());
        }
        Err(CudaError::Wrong(format!("a sum over {SMALL} bytes came to {found:#x}, not to {expected:#x}")))
    }

    /// Overwrites memory of a buffer that is alive, with what no probe computes.
    pub(crate) fn poison(&self, address: u64, bytes: u64) -> Result<(), CudaError> {
        const POISON: u8 = 0xA5;
        let driver = self.device.driver;
        // SAFETY: the callers pass a buffer's own address and at most its size.
        driver.check("cuMemsetD8", unsafe { (driver.table.memory_set)(address, POISON, bytes as usize) })
    }

    /// The sum of a buffer's first words, modulo 2^32, the plain way.
    pub(crate) fn sum(&mut self, address: u64, bytes: u64) -> Result<u32, CudaError> {
        let load = self.load("memory", "sum", [self.device.multiprocessors * 8, 256])?;
        Ok(self.shot(&Load { input: address, n: bytes, ..load }, 1)?.sum)
    }

    /// Launches once from an idle device and waits.
    pub(crate) fn shot(&self, load: &Load, repeats: u64) -> Result<Shot, CudaError> {
        self.shot_while(load, repeats, || ())
    }

    /// The same, and does something on the host while the device works: the wall's figure is then of no use.
    pub(crate) fn shot_while(&self, load: &Load, repeats: u64, meanwhile: impl FnOnce()) -> Result<Shot, CudaError> {
        let blocks = (load.launch.blocks as usize).min(RECORDS);
        self.output.set(0, blocks * RECORD)?;
        self.context.synchronize()?;
        let arguments = [load.input, self.output.address(), load.n, repeats, load.seed, load.extra];
        let start = Instant::now();
        self.events[0].record(&self.stream)?;
        load.function.launch(&self.stream, load.launch, &arguments)?;
        self.events[1].record(&self.stream)?;
        meanwhile();
        self.events[1].wait(self.plan.limit)?;
        let wall = start.elapsed().as_secs_f64();
        let event = self.events[1].since(&self.events[0])?;
        Ok(read(&self.output.download(0, blocks * RECORD)?, [event, wall]))
    }

    /// Seconds by events of whatever `work` queues, from an idle device.
    pub(crate) fn timed(&self, work: impl FnOnce(&Stream) -> Result<(), CudaError>) -> Result<f64, CudaError> {
        self.context.synchronize()?;
        self.events[0].record(&self.stream)?;
        work(&self.stream)?;
        self.events[1].record(&self.stream)?;
        self.events[1].wait(self.plan.limit)?;
        self.events[1].since(&self.events[0])
    }

    /// Repeats that fill a window of so many seconds.
    pub(crate) fn repeats(&self, load: &Load, window: f64) -> Result<u64, CudaError> {
        let mut repeats = 1;
        loop {
            // The second launch: the first one loads the code.
            self.shot(load, repeats)?;
            let took = self.shot(load, repeats)?.event;
            if took >= window * 0.25 || repeats >= MOST_REPEATS {
                return Ok(((repeats as f64 * window / took).round() as u64).max(1));
            }
            repeats = (repeats as f64 * (window * 0.5 / took.max(1e-6)).clamp(2.0, 100.0)) as u64;
        }
    }

    /// So many windows of the same work.
    pub(crate) fn windows(&self, load: &Load, repeats: u64, windows: usize) -> Result<Vec<Shot>, CudaError> {
        (0..windows).map(|_| self.shot(load, repeats)).collect()
    }

    /// Whether all blocks run at once. Of blocks that wait for others the slowest one's cycles say nothing.
    pub(crate) fn at_once(&self, load: &Load) -> Result<bool, CudaError> {
        let fit = load.function.resident_blocks(load.launch)? * self.device.multiprocessors;
        Ok(load.launch.blocks <= fit)
    }

    /// Notes whether twice the work takes twice the time: what the assembler removed takes none.
    pub(crate) fn check_proportion(&mut self, figure: &str, load: &Load, repeats: u64) -> Result<(), CudaError> {
        let (repeats, counted) = (repeats.max(2), self.at_once(load)?);
        let took = |session: &Self, repeats: u64| -> Result<f64, CudaError> {
            let shots = session.windows(load, repeats, 5)?;
            // In cycles where they mean something: a clock that moves with the power is no work.
            let took = |shot: &Shot| if counted && shot.cycles > 0.0 { shot.cycles } else { shot.event };
            // The least: whatever disturbs a launch adds to it.
            Ok(shots.iter().map(took).fold(f64::INFINITY, f64::min))
        };
        let (half, whole) = (took(self, repeats / 2)?, took(self, repeats / 2 * 2)?);
        let ratio = whole / half;
        self.findings.push(Finding {
            detector: "proportion".to_owned(),
            figure: figure.to_owned(),
            sound: (ratio / 2.0 - 1.0).abs() < PROPORTION,
            text: format!("twice the work took {ratio:.3} times as long"),
        });
        Ok(())
    }
}

/// A launch's records.
fn read(bytes: &[u8], [event, wall]: [f64; 2]) -> Shot {
    let mut shot = Shot { event, wall, ..Shot::default() };
    let (mut first, mut last) = (u64::MAX, 0);
    for record in bytes.chunks_exact(RECORD) {
        let word =
            |i: usize| record[8 * i..8 * i + 8].iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
        shot.cycles = shot.cycles.max(word(0) as f64);
        if word(1) > 0 {
            first = first.min(word(1));
        }
        last = last.max(word(2));
        shot.sum = shot.sum.wrapping_add(word(3) as u32);
    }
    shot.timer = last.saturating_sub(first) as f64 * 1e-9;
    shot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_several_blocks_make_one_shot() {
        let record = |words: [u64; 4]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        // The upper half of the last word is the multiprocessor.
        let bytes = [record([10, 1000, 1500, 7 | 3 << 32]), record([30, 900, 1400, u64::from(u32::MAX)])].concat();
        let shot = read(&bytes, [1.0, 2.0]);
        assert_eq!((shot.cycles, shot.sum, shot.event, shot.wall), (30.0, 6, 1.0, 2.0));
        assert!((shot.timer - 600e-9).abs() < 1e-15);
        assert_eq!(read(&[0; 32], [1.0, 1.0]).timer, 0.0);
    }
}
