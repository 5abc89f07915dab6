//! `rooflab selftest`: rooflab's own rules on data whose truth is known.
//!
//! Must not judge what comes out: it is printed, whatever it is.

use super::print_json;
use crate::args::{SelftestArgs, SelftestVerb};
use crate::outcome::{Done, Failure, Outcome};
use ::compare::selfcheck::{self, Clock, CpuBound, MemoryBound, NoisyNeighbour, Row, RuleTried, SelfCheck, Told};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Runs it.
///
/// # Errors
/// When the raw data can't be written.
pub fn run(args: &SelftestArgs) -> Outcome {
    let SelftestVerb::Compare { windows, seconds, out, json } = &args.what;
    let mut raw = out.as_deref().map(Raw::create).transpose()?;
    ::compare::catch_interrupts();
    let check = SelfCheck { windows: *windows as usize, pairs: SelfCheck::pairs_in(*seconds), ..SelfCheck::default() };
    let mut rows = kernels(&check, "", raw.as_mut())?;
    let neighbour = NoisyNeighbour::start();
    rows.extend(kernels(&check, ", beside a noisy neighbour", raw.as_mut())?);
    drop(neighbour);
    let table = selfcheck::markdown(&rows);
    if let Some(raw) = raw {
        raw.finish(&rows, &table)?;
    }
    if *json {
        return print_json(&rows);
    }
    print!("{table}");
    Ok(Done::Complete)
}

fn kernels(check: &SelfCheck, beside: &str, mut raw: Option<&mut Raw>) -> Result<Vec<Row>, Failure> {
    let mut clocks: [Box<dyn Clock>; 2] = [Box::new(CpuBound::new()), Box::new(MemoryBound::new())];
    let mut rows = Vec::new();
    let mut written = Ok(());
    for clock in &mut clocks {
        let name = format!("{}{beside}", clock.name());
        let mut on = |told: Told<'_>| match told {
            Told::Window(window) => {
                if let Some(raw) = raw.as_deref_mut()
                    && written.is_ok()
                {
                    written = raw.window(&selfcheck::Window { clock: name.clone(), ..window.clone() });
                }
            }
            Told::Row(row) if row.rule == RuleTried::ALL[0] => {
                let (effect, n) = (100.0 * row.effect, row.windows);
                eprintln!("{name}, {effect:+.1} %: {} right, {} wrong of {n}", row.right, row.wrong);
            }
            Told::Row(_) => {}
        };
        let found = selfcheck::run(check, clock.as_mut(), &mut on);
        rows.extend(found.into_iter().map(|row| Row { clock: name.clone(), ..row }));
    }
    written.map(|()| rows)
}

/// The raw data: a line a window as it is complete, and at the end the rows and their table.
struct Raw {
    folder: PathBuf,
    path: PathBuf,
    windows: BufWriter<File>,
}

impl Raw {
    fn create(folder: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
        let path = folder.join("windows.jsonl");
        let file = File::create(&path).map_err(|error| Failure::file(&path, &error))?;
        Ok(Self { folder: folder.to_owned(), path, windows: BufWriter::new(file) })
    }

    /// Between windows, when no clock runs.
    fn window(&mut self, window: &selfcheck::Window) -> Result<(), Failure> {
        let line = serde_json::to_string(window).map_err(|error| Failure::file(&self.path, &error.into()))?;
        writeln!(self.windows, "{line}").map_err(|error| Failure::file(&self.path, &error))
    }

    fn finish(mut self, rows: &[Row], table: &str) -> Result<(), Failure> {
        self.windows.flush().map_err(|error| Failure::file(&self.path, &error))?;
        let write = |name: &str, text: &str| {
            let path = self.folder.join(name);
            std::fs::write(&path, text).map_err(|error| Failure::file(&path, &error))
        };
        let rows = serde_json::to_string_pretty(rows).map_err(|error| Failure::file(&self.folder, &error.into()))?;
        write("rows.json", &(rows + "\n"))?;
        write("table.md", table)
    }
}
