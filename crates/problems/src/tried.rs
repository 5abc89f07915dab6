//! A resolved problem, tried on every shape that it names: no expression may fail later.
//!
//! Must not change the problem.

use crate::error::{Page, ProblemError};
use crate::manifest::Manifest;
use crate::problem::Problem;
use crate::workload;
use model::Workload;

type Result<T> = std::result::Result<T, ProblemError>;

/// A resolved problem, tried on all its shapes.
pub(crate) struct Tried<'a> {
    pub(crate) page: &'a Page,
    pub(crate) manifest: &'a Manifest,
    pub(crate) problem: &'a Problem,
}

impl Tried<'_> {
    /// Declared workloads, edges, and both ends of the ranges.
    pub(crate) fn all(&self) -> Result<()> {
        let corner = |end: usize| {
            let values = self.problem.axes.iter().map(|axis| (axis.name.clone(), axis.range[end]));
            workload::named(&self.problem.axes, values.collect())
        };
        let corners = [corner(0), corner(1)];
        for workload in self.problem.workloads.iter().chain(&self.problem.edges).chain(&corners) {
            self.shapes(workload)?;
            self.rows(workload)?;
            self.work(workload)?;
        }
        self.shortest_first()
    }

    fn shapes(&self, workload: &Workload) -> Result<()> {
        let scope = self.problem.scope(workload);
        for (argument, table) in self.problem.arguments.iter().zip(&self.manifest.arguments) {
            argument.bytes(&scope).map_err(|why| {
                let shape = &table.get_ref().shape;
                let span = shape.first().map_or(table.span(), |first| {
                    first.span().start..shape.last().map_or(first.span().end, |last| last.span().end)
                });
                let help = "correct the shape, or narrow the axis's range, edges and workloads";
                self.page.error(Some(span), format!("impossible shape at {}: {why}", workload.name), help)
            })?;
        }
        Ok(())
    }

    fn rows(&self, workload: &Workload) -> Result<()> {
        let p = self.problem;
        let scope = p.scope(workload);
        let table = &self.manifest.oracle;
        for (expression, text) in [(&p.rows, &table.rows), (&p.row_length, &table.row_length)] {
            expression.count(&scope).map_err(|value| {
                let message = format!("`{}` is {value} at {}", expression.text(), workload.name);
                self.page.error(Some(text.span()), message, "rows and row_length are whole numbers of at least 1")
            })?;
        }
        let output = &p.arguments[p.output()];
        let elements = p.workload_bytes(workload)[p.output()] / output.dtype.size();
        let (rows, length) = (p.rows(workload), p.row_length(workload));
        if rows.saturating_mul(length) == elements {
            return Ok(());
        }
        Err(self.page.error(
            Some(table.rows.span()),
            format!(
                "{rows} rows of {length} are not the {elements} elements of `{}` at {}",
                output.name, workload.name
            ),
            "rows * row_length must be the size of the output",
        ))
    }

    fn work(&self, workload: &Workload) -> Result<()> {
        let p = self.problem;
        let scope = p.scope(workload);
        let table = &self.manifest.work;
        let entries = [(&p.flop, &table.flop), (&p.bytes, &table.bytes), (&p.exp, &table.exp)];
        for (expression, text) in entries {
            let value = expression.evaluate(&scope);
            if !(value >= 0.0 && value.is_finite()) {
                let message = format!("`{}` is {value} at {}", expression.text(), workload.name);
                return Err(self.page.error(Some(text.span()), message, "work is a finite number of at least 0"));
            }
        }
        if p.bytes.evaluate(&scope) > 0.0 {
            return Ok(());
        }
        Err(self.page.error(
            Some(table.bytes.span()),
            format!("no bytes are moved at {}", workload.name),
            "count every input read once and every output written once",
        ))
    }

    fn shortest_first(&self) -> Result<()> {
        let load = |workload: &Workload| {
            let work = self.problem.work(workload);
            work.flop.0 + work.bytes.0
        };
        let unsorted = self.problem.workloads.windows(2).position(|pair| load(&pair[0]) > load(&pair[1]));
        let Some(i) = unsorted else { return Ok(()) };
        Err(self.page.error(
            Some(self.manifest.workloads[i + 1].span()),
            format!("{} is less work than the workload before it", self.problem.workloads[i + 1].name),
            "put the shortest first: the judge tries it first and the others only for survivors",
        ))
    }
}
