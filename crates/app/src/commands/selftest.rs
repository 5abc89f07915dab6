//! `rooflab selftest`: rooflab's own rules on data whose truth is known.

use super::print_json;
use crate::args::{SelftestArgs, SelftestVerb};
use crate::outcome::{Done, Outcome};
use ::compare::selfcheck::{self, Clock, CpuBound, MemoryBound, NoisyNeighbour, Row, SelfCheck};

/// Runs it.
///
/// # Errors
/// When the result can't be printed.
pub fn run(args: &SelftestArgs) -> Outcome {
    let SelftestVerb::Compare { windows, json } = &args.what;
    ::compare::catch_interrupts();
    let check = SelfCheck { windows: *windows as usize, ..SelfCheck::default() };
    let mut rows = kernels(&check, "");
    let neighbour = NoisyNeighbour::start();
    rows.extend(kernels(&check, ", beside a noisy neighbour"));
    drop(neighbour);
    if *json {
        return print_json(&rows);
    }
    print!("{}", selfcheck::markdown(&rows));
    Ok(Done::Complete)
}

fn kernels(check: &SelfCheck, beside: &str) -> Vec<Row> {
    let mut clocks: [Box<dyn Clock>; 2] = [Box::new(CpuBound::new()), Box::new(MemoryBound::new())];
    let mut rows = Vec::new();
    for clock in &mut clocks {
        let name = format!("{}{beside}", clock.name());
        // Between the effects, when no clock runs.
        let mut on_row = |row: &Row| {
            if row.rule == selfcheck::RuleTried::ALL[0] {
                eprintln!(
                    "{name}, {:+.1} %: {} right, {} wrong of {}",
                    100.0 * row.effect,
                    row.right,
                    row.wrong,
                    row.windows
                );
            }
        };
        let found = selfcheck::run(check, clock.as_mut(), &mut on_row);
        rows.extend(found.into_iter().map(|row| Row { clock: name.clone(), ..row }));
    }
    rows
}
