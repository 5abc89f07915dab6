//! Latency and throughput of single instructions, in cycles: each from two unrolls, so that the loop's own cost drops
//! out and shows.

use crate::rig::Rig;
use crate::summary::Summary;
use crate::{Session, trust};
use kernels::{Chain, Instruction, UNROLLS};
use model::{Figure, Finding, Quantity, Seconds};

/// Aim of a window here: hundreds of times the clock's step, and short enough to fall between interruptions.
const SHORT: Seconds = Seconds(2e-4);

/// The figures, and what the detectors say of them.
pub(crate) fn measure(session: &mut Session) -> (Vec<Figure>, Vec<Finding>) {
    (session.progress)("latency and throughput of instructions");
    let (mut figures, mut findings) = (Vec::new(), Vec::new());
    if kernels::instructions().next().is_none() {
        session.missing.push("instruction: written for AVX2 and AVX-512, and this machine has neither".to_owned());
        return (figures, findings);
    }
    for instruction in kernels::instructions() {
        let result = both(session, instruction, &mut findings);
        figures.extend(session.noted(&format!("instruction.{}", instruction.name), result).into_iter().flatten());
    }
    findings.extend(unlike(&figures));
    // One line for all that are sound: the table of findings is for what is not.
    let sound = findings.iter().filter(|finding| finding.sound).count();
    findings.retain(|finding| !finding.sound);
    findings.push(Finding {
        detector: "loop-overhead".to_owned(),
        figure: "instruction".to_owned(),
        sound: true,
        text: format!("{sound} figures take as long an operation at half the unroll, or differ as unlike units must"),
    });
    (figures, findings)
}

fn both(session: &mut Session, instruction: &Instruction, findings: &mut Vec<Finding>) -> Result<Vec<Figure>, String> {
    let random = &mut session.random;
    let operands = Aligned::of(&instruction.operands(&mut || random.normal().clamp(-1.0, 1.0)));
    let mut figures = Vec::new();
    let forms = [
        ("latency", instruction.latency, "each operation needs the one before"),
        ("throughput", instruction.throughput, "twelve registers, none needs another; cycles an operation"),
    ];
    for (form, chains, words) in forms {
        let name = format!("instruction.{}.{form}", instruction.name);
        let mut long = None;
        findings.push(trust::confirmed(|| {
            let [short, twice] = [0, 1].map(|i| cycles(session, chains[i], UNROLLS[i], &operands));
            let (short, twice) = (short?, twice?);
            long = Some(twice);
            Ok(trust::loop_overhead(&name, [short.median, twice.median]))
        })?);
        let long = long.ok_or("no window")?;
        let method =
            format!("{words}; {} operations a round; the clock is that of a chain of additions in turn", UNROLLS[1]);
        figures.push(long.figure(&name, Quantity::Cycles, method));
    }
    Ok(figures)
}

/// Cycles of one operation: each window beside one of the chain of additions, so that a moving clock cancels.
fn cycles(session: &mut Session, chain: Chain, unroll: u64, operands: &Aligned) -> Result<Summary, String> {
    let additions = crate::repeated::Repeated::find(session, "chain-add")?;
    let per_pass = kernels::cycles("chain-add", &[1]).ok_or("the probe is unknown")?;
    // SAFETY: the operands are as many as every chain reads, and the machine has the instruction.
    let mut load = |passes: u64| unsafe { chain(operands.start(), passes) };
    let units = Rig { clock: session.clock, load: &mut load }.units(SHORT)?;
    let clocked = Rig { clock: session.clock, load: &mut |n| additions.run(n) }.units(SHORT)?;
    let start = session.clock.now().0;
    let mut ratios = Vec::new();
    while ratios.len() < 8 || session.clock.now().0 - start < session.plan.instruction.0 {
        let time = Rig { clock: session.clock, load: &mut load }.time(units).0 / (units * unroll) as f64;
        let cycle =
            Rig { clock: session.clock, load: &mut |n| additions.run(n) }.time(clocked).0 / (clocked as f64 * per_pass);
        ratios.push(time / cycle);
    }
    Summary::of(ratios).filter(|summary| summary.median.is_finite()).ok_or_else(|| "a window took no time".to_owned())
}

/// Pairs that no core does in the same time.
fn unlike(figures: &[Figure]) -> Vec<Finding> {
    let pairs = [("add", "div"), ("add", "sqrt"), ("mul", "div")];
    let of = |operation: &str, rest: &str| {
        let name = format!("instruction.{operation}{rest}");
        figures.iter().find(|figure| figure.name == name)
    };
    let rests = ["-f32-avx2.latency", "-f64-avx2.latency", "-f32-avx512.latency", "-f64-avx512.latency"];
    let all = rests.iter().flat_map(|rest| pairs.iter().map(move |(a, b)| (of(a, rest), of(b, rest))));
    all.filter_map(|(a, b)| Some((a?, b?)))
        .map(|(a, b)| trust::identical([&a.name, &b.name], [a.value, b.value]))
        .collect()
}

/// Operands on a line of their own.
struct Aligned(Vec<[u64; 8]>);

impl Aligned {
    fn of(bytes: &[u8]) -> Self {
        // One line more than there are, for the start to be moved to a line.
        let mut lines = vec![[0_u64; 8]; bytes.len() / 64 + 1];
        let start = lines.as_mut_ptr().cast::<u8>();
        let start = start.wrapping_add(start.align_offset(64));
        // SAFETY: inside the lines.
        unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Self(lines)
    }

    fn start(&self) -> *const u8 {
        let start = self.0.as_ptr().cast::<u8>();
        start.wrapping_add(start.align_offset(64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, value: f64) -> Figure {
        Figure { name: format!("instruction.{name}.latency"), value, ..Figure::default() }
    }

    #[test]
    fn unlike_units_are_compared() {
        let figures = [figure("add-f32-avx2", 4.0), figure("div-f32-avx2", 4.01), figure("sqrt-f32-avx2", 12.0)];
        let findings = unlike(&figures);
        assert_eq!(findings.iter().map(|finding| finding.sound).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn operands_lie_on_a_line() {
        let aligned = Aligned::of(&[7; 2048]);
        assert_eq!(aligned.start() as usize % 64, 0);
        // SAFETY: 2048 bytes were copied there.
        assert!(unsafe { std::slice::from_raw_parts(aligned.start(), 2048) }.iter().all(|&byte| byte == 7));
    }
}
