//! Arithmetic outside the tensor cores, with one, two and three different operands.

use super::survey::{Best, Check, Way, survey};
use crate::driver::Launch;
use crate::error::CudaError;
use crate::oracle;
use crate::rig::{Load, Session};
use crate::summary::{Title, figure};
use model::{Finding, Map, Quantity};

/// Repeats of the check against the host.
const CHECKED: u64 = 3;
/// Blocks of a multiprocessor, and their threads.
const SHAPES: [[u32; 2]; 4] = [[1, 1024], [2, 1024], [2, 512], [4, 256]];
/// Threads of a block that fills its multiprocessor's four parts.
const FULL: u32 = 1024;
/// A one-operand form that is so much faster is no program's rate.
const SAME: f64 = 0.02;

/// A unit: its name in figures, its kernels with three operands, whether it has the other two forms, and what one step
/// does.
struct Unit {
    name: &'static str,
    kernels: &'static [&'static str],
    forms: &'static [&'static str],
    operations: f64,
    quantity: Quantity,
}

const UNITS: [Unit; 7] = [
    Unit {
        name: "f32",
        kernels: &["f32_three", "f32_three_odd", "f32_outer"],
        forms: &["f32_one", "f32_two"],
        operations: 2.0,
        quantity: Quantity::FlopPerSecond,
    },
    Unit {
        name: "f64",
        kernels: &["f64_three", "f64_outer"],
        forms: &["f64_one", "f64_two"],
        operations: 2.0,
        quantity: Quantity::FlopPerSecond,
    },
    Unit {
        name: "i32",
        kernels: &["i32_three"],
        forms: &["i32_one", "i32_two"],
        operations: 2.0,
        quantity: Quantity::OpsPerSecond,
    },
    Unit { name: "i32-logic", kernels: &["i32_logic"], forms: &[], operations: 2.0, quantity: Quantity::OpsPerSecond },
    Unit {
        name: "f16",
        kernels: &["f16_three", "f16_three_odd", "f16_outer"],
        forms: &["f16_two"],
        operations: 4.0,
        quantity: Quantity::FlopPerSecond,
    },
    Unit {
        name: "bf16",
        kernels: &["bf16_three", "bf16_three_odd", "bf16_outer"],
        forms: &["bf16_two"],
        operations: 4.0,
        quantity: Quantity::FlopPerSecond,
    },
    Unit { name: "exp", kernels: &["exp2"], forms: &[], operations: 1.0, quantity: Quantity::OpsPerSecond },
];

/// Every unit; one that computes something else is missing.
#[expect(clippy::unnecessary_wraps, reason = "every group of probes has one signature")]
pub(crate) fn measure(session: &mut Session, map: &mut Map) -> Result<(), CudaError> {
    for unit in &UNITS {
        let name = format!("compute.{}", unit.name);
        let result = measure_unit(session, map, unit);
        session.noted(&name, result);
    }
    Ok(())
}

fn measure_unit(session: &mut Session, map: &mut Map, unit: &Unit) -> Result<(), CudaError> {
    for kernel in unit.kernels.iter().chain(unit.forms) {
        verify(session, kernel)?;
    }
    let name = format!("compute.{}.all", unit.name);
    let three = sweep(session, &name, unit.kernels, unit.operations)?;
    session.check_proportion(&name, &three.way.load, three.way.repeats)?;
    map.figures.push(figure(Title { name: &name, quantity: unit.quantity }, &three.rates, three.method.clone()));
    alone(session, map, unit, &three)?;
    for form in unit.forms {
        let words = if form.ends_with("one") { "one-operand" } else { "two-operands" };
        let name = format!("compute.{}.{words}.all", unit.name);
        let best = sweep(session, &name, &[*form], unit.operations)?;
        map.figures.push(figure(Title { name: &name, quantity: unit.quantity }, &best.rates, best.method.clone()));
        let [fast, base] = [&best, &three].map(|best| stats::robust::median(&best.rates));
        session.findings.push(Finding {
            detector: words.to_owned(),
            figure: format!("compute.{}.all", unit.name),
            // The figure is the one with three operands, which stands however fast the others are.
            sound: true,
            text: if fast / base > 1.0 + SAME {
                format!(
                    "with {words} {:.1} % faster: three operands want more of the register banks",
                    100.0 * (fast / base - 1.0)
                )
            } else {
                format!("with {words} {:.3} times as fast", fast / base)
            },
        });
    }
    Ok(())
}

/// What one multiprocessor does in a cycle, and in a second while the others are idle: of one block on each, since the
/// cycles of blocks that wait for others say nothing.
fn alone(session: &mut Session, map: &mut Map, unit: &Unit, all: &Best) -> Result<(), CudaError> {
    let [full, one] = [session.device.multiprocessors, 1]
        .map(|blocks| Load { launch: Launch { blocks, threads: FULL, shared: 0 }, ..all.way.load.clone() });
    let repeats = session.repeats(&full, session.plan.window)?;
    let work = f64::from(FULL) * oracle::ALU_STEPS as f64 * unit.operations * repeats as f64;
    let kernel = &full.function.name;
    let cycles: Vec<f64> =
        session.windows(&full, repeats, session.plan.windows)?.iter().map(|shot| work / shot.cycles).collect();
    let name = format!("compute.{}.per-cycle", unit.name);
    let method = format!("operations a cycle of a multiprocessor: {kernel}, a block of {FULL} on each");
    map.figures.push(figure(Title { name: &name, quantity: Quantity::Ratio }, &cycles, method));
    let rates: Vec<f64> =
        session.windows(&one, repeats, session.plan.windows)?.iter().map(|shot| work / shot.event).collect();
    let name = format!("compute.{}.one", unit.name);
    let method = format!("{kernel}, one block of {FULL}, the others idle");
    map.figures.push(figure(Title { name: &name, quantity: unit.quantity }, &rates, method));
    Ok(())
}

/// A single thread against the host's arithmetic, to the bit; exp2, of which the device has an approximation, against
/// where it has to settle.
fn verify(session: &mut Session, kernel: &str) -> Result<(), CudaError> {
    let load = session.load("alu", &format!("alu_{kernel}"), [1, 1])?;
    let found = session.shot(&load, CHECKED)?.sum;
    match oracle::alu(kernel, load.seed, CHECKED) {
        Some(expected) if found == expected => Ok(()),
        None if oracle::settled_sum(found) => Ok(()),
        Some(expected) => Err(CudaError::Wrong(format!("{kernel} came to {found:#x}, not to {expected:#x}"))),
        None => Err(CudaError::Wrong(format!("{kernel} came to {found:#x}, which is not where it settles"))),
    }
}

fn sweep(session: &mut Session, name: &str, kernels: &[&str], operations: f64) -> Result<Best, CudaError> {
    let multiprocessors = session.device.multiprocessors;
    let mut ways = Vec::new();
    for kernel in kernels {
        for [blocks, threads] in SHAPES {
            let grid = multiprocessors * blocks;
            let load = session.load("alu", &format!("alu_{kernel}"), [grid, threads])?;
            if !session.at_once(&load)? {
                continue;
            }
            let label = format!("{kernel}, {blocks} blocks of {threads}");
            let work = f64::from(grid) * f64::from(threads) * oracle::ALU_STEPS as f64 * operations;
            ways.push(Way::filling(session, label, load, work, Check::Stable)?);
        }
    }
    survey(session, name, ways)
}
