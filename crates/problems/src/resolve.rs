//! From the written manifest to a [`Problem`]: every name known, every expression tried, every file read.
//!
//! Must not compile or run anything.

use crate::error::{Page, ProblemError};
use crate::expression::{Expression, Scope, is_name};
use crate::manifest::{ArgumentTable, BaselineTable, DistributionName, DrawTable, Manifest};
use crate::problem::{Argument, Axis, Baseline, BaselineCode, Budget, LARGEST_POOL, Problem};
use crate::tried::Tried;
use crate::{Distribution, Role, workload};
use model::{Digest, Seconds, Source, Workload};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Component, Path};
use toml::Spanned;

type Result<T> = std::result::Result<T, ProblemError>;

/// Loads the folder.
pub(crate) fn load(dir: &Path) -> Result<Problem> {
    let path = dir.join("problem.toml");
    let text = std::fs::read_to_string(&path).map_err(|source| ProblemError::File { path: path.clone(), source })?;
    let page = Page::new(&path, text);
    let manifest: Manifest = toml::from_str(page.text()).map_err(|e| page.syntax(&e))?;
    let mut files = vec![("problem.toml".to_owned(), page.text().to_owned())];
    let mut read = |name: &Spanned<String>| -> Result<String> {
        let content = read_file(&page, dir, name)?;
        files.push((name.get_ref().clone(), content.clone()));
        Ok(content)
    };
    let oracle = read(&manifest.oracle.file)?;
    let hints = manifest.hints.as_ref().map(&mut read).transpose()?.unwrap_or_default();
    let baselines = manifest
        .baselines
        .iter()
        .map(|table| baseline(&page, table, manifest.language, &mut read))
        .collect::<Result<Vec<_>>>()?;
    if baselines.is_empty() {
        return Err(page.error(
            None,
            "no [[baseline]]",
            "declare at least one, strength = \"naive\": candidates start from it",
        ));
    }
    let digest = digest(files);
    let problem = Resolver { page: &page, manifest: &manifest }.problem(Parts { oracle, hints, baselines, digest })?;
    Tried { page: &page, manifest: &manifest, problem: &problem }.all()?;
    Ok(problem)
}

/// What was read from files other than `problem.toml`.
struct Parts {
    oracle: String,
    hints: String,
    baselines: Vec<Baseline>,
    digest: Digest,
}

fn read_file(page: &Page, dir: &Path, name: &Spanned<String>) -> Result<String> {
    let relative = Path::new(name.get_ref());
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        let help = "put the file into the problem's folder and name it relative to that";
        return Err(page.error(Some(name.span()), format!("`{}` leads out of the folder", name.get_ref()), help));
    }
    std::fs::read_to_string(dir.join(relative)).map_err(|e| {
        let help = "write the file, or correct its name; it is relative to the problem's folder";
        page.error(Some(name.span()), format!("can't read `{}`: {e}", name.get_ref()), help)
    })
}

/// Digest over names and contents, whatever the order in which they were read.
fn digest(mut files: Vec<(String, String)>) -> Digest {
    files.sort();
    files.dedup();
    let mut all = String::new();
    for (name, content) in files {
        let _ = write!(all, "{name}\0{}\0{content}", content.len());
    }
    Digest::of(all)
}

fn baseline(
    page: &Page,
    table: &Spanned<BaselineTable>,
    language: model::Language,
    read: &mut impl FnMut(&Spanned<String>) -> Result<String>,
) -> Result<Baseline> {
    let inner = table.get_ref();
    let code = match (&inner.file, &inner.builtin) {
        (Some(file), None) => BaselineCode::Source(Source { language, text: read(file)?, flags: Vec::new() }),
        (None, Some(name)) => BaselineCode::Builtin(name.clone()),
        _ => {
            return Err(page.error(
                Some(table.span()),
                format!("baseline `{}` needs one place for its code", inner.name.get_ref()),
                "give either `file`, in this folder, or `builtin`, a baseline compiled into rooflab",
            ));
        }
    };
    Ok(Baseline { name: inner.name.get_ref().clone(), strength: inner.strength, code })
}

struct Resolver<'a> {
    page: &'a Page,
    manifest: &'a Manifest,
}

impl Resolver<'_> {
    fn problem(&self, parts: Parts) -> Result<Problem> {
        let m = self.manifest;
        let axes = self.axes()?;
        let known = self.known(&axes)?;
        self.entry()?;
        let workloads = self.workloads(&axes)?;
        let arguments = m.arguments.iter().map(|a| self.argument(a, &known)).collect::<Result<Vec<_>>>()?;
        self.one_output(&arguments)?;
        self.rule_fits(&arguments)?;
        Ok(Problem {
            name: m.name.get_ref().clone(),
            title: m.title.clone(),
            entry: m.entry.get_ref().clone(),
            language: m.language,
            threads: self.threads()?,
            constants: m.constants.iter().map(|(name, value)| (name.clone(), *value.get_ref())).collect(),
            edges: self.edges(&axes, &workloads[0])?,
            axes,
            arguments,
            workloads,
            baselines: parts.baselines,
            rule: *m.tolerance.rule.get_ref(),
            factor: self.positive(&m.tolerance.factor, "the tolerance's factor")?,
            numerics: m.numerics.clone(),
            counting: self.counting()?,
            budget: Budget {
                search: Seconds(self.positive(&m.budget.search_seconds, "a budget")?),
                call: Seconds(self.positive(&m.budget.call_seconds, "a budget")?),
            },
            hints: parts.hints,
            digest: parts.digest,
            oracle: parts.oracle,
            rows: self.expression(&m.oracle.rows, &known)?,
            row_length: self.expression(&m.oracle.row_length, &known)?,
            flop: self.expression(&m.work.flop, &known)?,
            bytes: self.expression(&m.work.bytes, &known)?,
            exp: self.expression(&m.work.exp, &known)?,
        })
    }

    fn axes(&self) -> Result<Vec<Axis>> {
        let axis = |table: &Spanned<crate::manifest::AxisTable>| {
            let inner = table.get_ref();
            let range = inner.range.get_ref();
            match range[..] {
                [low, high] if 1 <= low && low <= high => {
                    Ok(Axis { name: inner.name.get_ref().clone(), range: [low, high] })
                }
                _ => Err(self.page.error(
                    Some(inner.range.span()),
                    format!("the range of `{}` is not [low, high] with 1 <= low <= high", inner.name.get_ref()),
                    "held-out shapes are drawn from it: give the smallest and the largest, e.g. [64, 1536]",
                )),
            }
        };
        let axes = self.manifest.axes.iter().map(axis).collect::<Result<Vec<_>>>()?;
        if axes.is_empty() {
            return Err(self.page.error(None, "no [[axis]]", "declare at least one, with its range"));
        }
        Ok(axes)
    }

    /// Constants and axes with some value each, after a look at their names.
    fn known(&self, axes: &[Axis]) -> Result<Scope> {
        let m = self.manifest;
        let constants = m.constants.iter().map(|(name, value)| (name, value.span(), *value.get_ref()));
        let axes = m.axes.iter().zip(axes).map(|(t, axis)| (&axis.name, t.get_ref().name.span(), axis.range[0]));
        let mut known = Scope::new();
        for (name, span, value) in constants.chain(axes) {
            self.name(name, span.clone())?;
            if known.insert(name.clone(), value as f64).is_some() {
                return Err(self.twice(name, span));
            }
        }
        for argument in &m.arguments {
            let name = &argument.get_ref().name;
            self.name(name.get_ref(), name.span())?;
            let again = m.arguments.iter().filter(|a| a.get_ref().name.get_ref() == name.get_ref()).count() > 1;
            if again || known.contains_key(name.get_ref()) {
                return Err(self.twice(name.get_ref(), name.span()));
            }
        }
        Ok(known)
    }

    fn twice(&self, name: &str, span: std::ops::Range<usize>) -> ProblemError {
        self.page.error(
            Some(span),
            format!("`{name}` is declared twice"),
            "constants, axes and arguments share one space of names: rename one",
        )
    }

    fn name(&self, name: &str, span: std::ops::Range<usize>) -> Result<()> {
        if is_name(name) {
            return Ok(());
        }
        let help = "use lower-case letters, digits and `_`, a letter first, and no word of the expression language \
                    (exp, min, max, e, ...)";
        Err(self.page.error(Some(span), format!("`{name}` can't be used as a name"), help))
    }

    fn entry(&self) -> Result<()> {
        let name = &self.manifest.name;
        if !crate::new::is_problem_name(name.get_ref()) {
            let help = "use lower-case letters, digits and `-`, a letter first";
            let message = format!("`{}` can't name a problem", name.get_ref());
            return Err(self.page.error(Some(name.span()), message, help));
        }
        let entry = &self.manifest.entry;
        self.name(entry.get_ref(), entry.span())?;
        if entry.get_ref().starts_with("rooflab_") {
            let help = "choose another name for the candidate's function";
            return Err(self.page.error(Some(entry.span()), "names in `rooflab_` are taken", help));
        }
        Ok(())
    }

    fn threads(&self) -> Result<usize> {
        let Some(threads) = &self.manifest.threads else { return Ok(0) };
        let count = *threads.get_ref();
        if (1..=LARGEST_POOL).contains(&count) {
            return Ok(count as usize);
        }
        let help = format!(
            "give 1 to {LARGEST_POOL}: the threads beside the one that calls, one core each and one core more; or leave it \
             out"
        );
        Err(self.page.error(Some(threads.span()), format!("a pool of {count} threads can't be"), help))
    }

    fn workloads(&self, axes: &[Axis]) -> Result<Vec<Workload>> {
        let m = self.manifest;
        if m.workloads.is_empty() {
            return Err(self.page.error(None, "no [[workload]]", "declare at least one, the shortest first"));
        }
        let one = |table: &Spanned<BTreeMap<String, Spanned<i64>>>| {
            for (name, value) in table.get_ref() {
                self.declared_axis(name, value.span(), axes)?;
            }
            if let Some(axis) = axes.iter().find(|axis| !table.get_ref().contains_key(&axis.name)) {
                let help = "a workload gives a value to every axis";
                let message = format!("this workload has no `{}`", axis.name);
                return Err(self.page.error(Some(table.span()), message, help));
            }
            let values = table.get_ref().iter().map(|(name, value)| (name.clone(), *value.get_ref()));
            Ok(workload::named(axes, values.collect()))
        };
        m.workloads.iter().map(one).collect()
    }

    fn declared_axis(&self, name: &str, span: std::ops::Range<usize>, axes: &[Axis]) -> Result<()> {
        if axes.iter().any(|axis| axis.name == name) {
            return Ok(());
        }
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let help = format!("declare it as [[axis]] with a range, or use one of: {}", names.join(", "));
        Err(self.page.error(Some(span), format!("`{name}` is not an axis"), help))
    }

    /// One edge shape a value; the other axes stay at the first workload's.
    fn edges(&self, axes: &[Axis], first: &Workload) -> Result<Vec<Workload>> {
        let mut edges = Vec::new();
        for (name, values) in &self.manifest.edges {
            self.declared_axis(name, values.span(), axes)?;
            for value in values.get_ref() {
                let mut shape = first.axes.clone();
                shape.insert(name.clone(), *value);
                edges.push(workload::named(axes, shape));
            }
        }
        Ok(edges)
    }

    fn argument(&self, table: &Spanned<ArgumentTable>, known: &Scope) -> Result<Argument> {
        let inner = table.get_ref();
        let role = *inner.role.get_ref();
        let draw = match (&inner.draw, role.is_input()) {
            (Some(draw), true) => Some(self.distribution(draw)?),
            (None, false) => None,
            (Some(draw), false) => {
                let help = "remove `draw`: only activations and weights are drawn";
                return Err(self.page.error(Some(draw.span()), "this argument is not an input", help));
            }
            (None, true) => {
                let help =
                    "add draw = { distribution = \"normal\" } or { distribution = \"uniform\", low = -1, high = 1 }";
                let message = format!("input `{}` does not say what it holds", inner.name.get_ref());
                return Err(self.page.error(Some(table.span()), message, help));
            }
        };
        let shape = inner.shape.iter().map(|text| self.expression(text, known)).collect::<Result<Vec<_>>>()?;
        Ok(Argument { name: inner.name.get_ref().clone(), dtype: *inner.dtype.get_ref(), role, shape, draw })
    }

    fn distribution(&self, table: &Spanned<DrawTable>) -> Result<Distribution> {
        let bad = |message: &str, help: &str| Err(self.page.error(Some(table.span()), message, help));
        let inner = table.get_ref();
        match inner.distribution {
            DistributionName::Normal if inner.low.is_some() || inner.high.is_some() => {
                bad("`low` and `high` belong to uniform", "give `mean` and `scale`, or none: 0 and [1, 1]")
            }
            DistributionName::Normal => {
                let mean = inner.mean.unwrap_or(0.0);
                match inner.scale.as_deref().unwrap_or(&[1.0, 1.0]) {
                    [low, high] if 0.0 < *low && low <= high && high.is_finite() && mean.is_finite() => {
                        Ok(Distribution::Normal { mean, scale: [*low, *high] })
                    }
                    _ => bad("`scale` is not [low, high] with 0 < low <= high", "a call's scale is drawn from it"),
                }
            }
            DistributionName::Uniform => match (inner.low, inner.high) {
                (Some(low), Some(high))
                    if low < high && (high - low).is_finite() && inner.mean.is_none() && inner.scale.is_none() =>
                {
                    Ok(Distribution::Uniform { low, high })
                }
                _ => bad("uniform needs `low` < `high` and nothing else", "e.g. low = -1, high = 1"),
            },
        }
    }

    fn one_output(&self, arguments: &[Argument]) -> Result<()> {
        let of = |role: Role| arguments.iter().filter(move |a| a.role == role).count();
        if of(Role::Output) != 1 || of(Role::Packed) > 1 {
            let help = "declare exactly one argument with role = \"output\" and at most one with role = \"packed\"";
            return Err(self.page.error(None, "the outputs can't be checked", help));
        }
        let output = arguments.iter().position(|a| a.role == Role::Output).unwrap_or_default();
        if arguments[output].dtype != crate::Dtype::F32 {
            let help = "make the output f32: the tolerance comes from the oracle's own error in f32";
            let span = self.manifest.arguments[output].get_ref().dtype.span();
            return Err(self.page.error(Some(span), "outputs of this type can't be checked yet", help));
        }
        Ok(())
    }

    fn rule_fits(&self, arguments: &[Argument]) -> Result<()> {
        let has_bf16 = arguments.iter().any(|a| a.role.is_input() && a.dtype == crate::Dtype::Bf16);
        if *self.manifest.tolerance.rule.get_ref() == crate::ToleranceRule::OracleF32 || has_bf16 {
            return Ok(());
        }
        let help = "make an input bf16, or take rule = \"oracle-f32\"";
        let span = self.manifest.tolerance.rule.span();
        Err(self.page.error(Some(span), "the rule oracle-bf16 needs an input in bf16", help))
    }

    fn positive(&self, value: &Spanned<f64>, what: &str) -> Result<f64> {
        if *value.get_ref() > 0.0 && value.get_ref().is_finite() {
            return Ok(*value.get_ref());
        }
        Err(self.page.error(Some(value.span()), format!("{what} must be above 0"), "give a positive number"))
    }

    fn counting(&self) -> Result<String> {
        let text = &self.manifest.work.counting;
        if text.get_ref().trim().is_empty() {
            let help = "say in a sentence what is counted: causal halving, a fused multiply-add as two, ...";
            return Err(self.page.error(Some(text.span()), "the counting is not stated", help));
        }
        Ok(text.get_ref().clone())
    }

    fn expression(&self, text: &Spanned<String>, known: &Scope) -> Result<Expression> {
        Expression::parse(text.get_ref(), known).map_err(|message| {
            let help = "use + - * / ^, min(a, b), max(a, b), numbers, constants and axes";
            self.page.error(Some(text.span()), message, help)
        })
    }
}
