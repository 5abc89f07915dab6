//! SOL-ExecBench and FlashInfer-Bench folders: `definition.json`, `workload.jsonl`, a solution's JSON.
//!
//! Must not run a reference, and must not take a solution that only a GPU can run for one that failed.

use crate::error::read;
use crate::task::{Bound, Fill, Input, Program, Shape, Style, Task, Tensor};
use crate::{Dtype, ForeignError, axes, safetensors};
use model::Language;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Largest tensor, bytes: the judge holds each several times.
const LARGEST: usize = 1 << 30;
/// Languages of solutions that need a GPU, by the names that the benchmarks give them.
const GPU: [&str; 9] = ["cuda", "triton", "tlx", "cute_dsl", "cutile", "cudnn_frontend", "cutlass", "cudnn", "cublas"];

/// `definition.json`. Maps keep no order in JSON's words, but here the order is the function's: see `Ordered`.
#[derive(Deserialize)]
struct Definition {
    name: String,
    axes: BTreeMap<String, Axis>,
    inputs: Ordered<TensorSpec>,
    outputs: Ordered<TensorSpec>,
    reference: String,
    #[serde(default)]
    custom_inputs_entrypoint: Option<String>,
    #[serde(default)]
    constraints: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", tag = "type")]
enum Axis {
    Const { value: i64 },
    Var {},
    Expr { expression: String },
}

#[derive(Deserialize)]
struct TensorSpec {
    shape: Option<Vec<String>>,
    dtype: String,
}

#[derive(Deserialize)]
struct Workload {
    uuid: String,
    axes: BTreeMap<String, i64>,
    inputs: BTreeMap<String, Source>,
    #[serde(default, alias = "correctness")]
    tolerance: Option<Tolerance>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", tag = "type")]
enum Source {
    Random {},
    Scalar { value: Value },
    Safetensors { path: String, tensor_key: String },
    Custom {},
}

#[derive(Deserialize)]
struct Tolerance {
    #[serde(default = "hundredth")]
    max_atol: f64,
    #[serde(default = "hundredth")]
    max_rtol: f64,
    #[serde(default = "all")]
    required_matched_ratio: f64,
}

#[derive(Deserialize)]
struct Solution {
    name: String,
    definition: String,
    spec: Spec,
    sources: Vec<SourceFile>,
}

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    languages: Vec<String>,
    entry_point: String,
    #[serde(default = "yes")]
    destination_passing_style: bool,
    #[serde(default)]
    binding: Option<String>,
}

#[derive(Deserialize)]
struct SourceFile {
    path: String,
    content: String,
}

fn hundredth() -> f64 {
    Bound::default().absolute
}

fn all() -> f64 {
    Bound::default().share
}

fn yes() -> bool {
    true
}

/// A JSON object in the order in which it is written.
struct Ordered<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
            type Value = Ordered<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Ordered<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered(entries))
            }
        }
        deserializer.deserialize_map(Visitor(std::marker::PhantomData))
    }
}

/// Reads a folder and a candidate: a solution's JSON, or a bare Python or C file whose function is `run`.
///
/// # Errors
/// Where the files are not of the schema, or ask for what this machine lacks.
pub fn task(folder: &Path, candidate: &Path, against: Option<&Path>) -> Result<Task, ForeignError> {
    let path = folder.join("definition.json");
    let text = read(&path)?;
    let definition: Definition = serde_json::from_str(&text).map_err(|error| ForeignError::schema(&path, error))?;
    let reference = |entry: &str| Program {
        name: definition.name.clone(),
        language: Language::Python,
        files: vec![("reference.py".to_owned(), definition.reference.clone())],
        main: "reference.py".to_owned(),
        entry: entry.to_owned(),
        style: Style::Returns,
        flags: Vec::new(),
    };
    let remarks = match definition.constraints.as_deref() {
        Some(constraints @ [_, ..]) => vec![format!("constraints are not checked: {}", constraints.join(", "))],
        _ => Vec::new(),
    };
    Ok(Task {
        name: definition.name.clone(),
        reference: reference("run"),
        candidate: program(&definition, candidate)?,
        against: against.map(|path| program(&definition, path)).transpose()?,
        draws: definition.custom_inputs_entrypoint.as_deref().map(reference),
        shapes: shapes(&definition, folder)?,
        remarks,
    })
}

fn shapes(definition: &Definition, folder: &Path) -> Result<Vec<Shape>, ForeignError> {
    let path = ["workload.jsonl", "workloads.jsonl"].map(|name| folder.join(name));
    let path = path.iter().find(|path| path.is_file()).unwrap_or(&path[0]);
    let mut shapes = Vec::new();
    for (number, line) in read(path)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let schema = |why: String| ForeignError::schema(path, format!("line {}: {why}", number + 1));
        let record: Value = serde_json::from_str(line).map_err(|error| schema(error.to_string()))?;
        // A workload by itself, or inside a trace that has no solution yet.
        let record = record.get("workload").cloned().unwrap_or(record);
        let workload: Workload = serde_json::from_value(record.clone()).map_err(|error| schema(error.to_string()))?;
        shapes.push(shape(definition, folder, (workload, record)).map_err(|error| match error {
            ForeignError::Schema { why, .. } => schema(why),
            other => other,
        })?);
    }
    if shapes.is_empty() {
        return Err(ForeignError::schema(path, "it holds no workload"));
    }
    Ok(told_apart(shapes))
}

/// Workloads of the same axes can differ in what their inputs hold: then the format's own name is added.
fn told_apart(mut shapes: Vec<Shape>) -> Vec<Shape> {
    let names: Vec<String> = shapes.iter().map(|shape| shape.name.clone()).collect();
    for shape in &mut shapes {
        if names.iter().filter(|name| **name == shape.name).count() > 1 {
            shape.name = format!("{}#{}", shape.name, shape.id);
        }
    }
    shapes
}

fn shape(definition: &Definition, folder: &Path, (workload, record): (Workload, Value)) -> Result<Shape, ForeignError> {
    let schema = |why: String| ForeignError::schema(folder, why);
    let axes = all_axes(definition, &workload.axes).map_err(schema)?;
    let mut inputs = Vec::new();
    for (name, spec) in &definition.inputs.0 {
        let source = workload.inputs.get(name).ok_or_else(|| schema(format!("no word on the input `{name}`")))?;
        if matches!(source, Source::Custom {}) && definition.custom_inputs_entrypoint.is_none() {
            return Err(schema(format!("`{name}` is custom, and the definition has no `custom_inputs_entrypoint`")));
        }
        inputs.push(input(name, spec, (source, &axes, folder))?);
    }
    let outputs = definition.outputs.0.iter().map(|(name, spec)| tensor(name, spec, &axes));
    let outputs = outputs.collect::<Result<Vec<_>, _>>().map_err(schema)?;
    let bound = workload.tolerance.map_or_else(Bound::default, |tolerance| Bound {
        absolute: tolerance.max_atol,
        relative: tolerance.max_rtol,
        share: tolerance.required_matched_ratio,
    });
    let words: Vec<String> = workload.axes.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let name = if words.is_empty() { workload.uuid.clone() } else { words.join(",") };
    Ok(Shape { name, id: workload.uuid, axes: workload.axes, record, inputs, outputs, bound })
}

fn input(
    name: &str,
    spec: &TensorSpec,
    (source, axes, folder): (&Source, &BTreeMap<String, i64>, &Path),
) -> Result<Input, ForeignError> {
    let schema = |why: String| ForeignError::schema(folder, why);
    if spec.shape.is_none() {
        let Source::Scalar { value } = source else {
            return Err(schema(format!("the input `{name}` is a scalar, and the workload gives it no value")));
        };
        return Ok(Input::Scalar(value.clone(), dtype(name, spec).map_err(schema)?));
    }
    let tensor = tensor(name, spec, axes).map_err(schema)?;
    let fill = match source {
        Source::Random {} => Fill::Random,
        Source::Custom {} => Fill::Drawn,
        Source::Scalar { .. } => return Err(schema(format!("the input `{name}` is a tensor, not a scalar"))),
        Source::Safetensors { path, tensor_key } => {
            let path = folder.join(path);
            Fill::File { offset: safetensors::locate(&path, tensor_key, &tensor)?, path }
        }
    };
    Ok(Input::Tensor(tensor, fill))
}

/// Constants, the workload's values, then expressions in as many rounds as they lean on each other.
fn all_axes(definition: &Definition, given: &BTreeMap<String, i64>) -> Result<BTreeMap<String, i64>, String> {
    let mut known = BTreeMap::new();
    for (name, axis) in &definition.axes {
        match axis {
            Axis::Const { value } => drop(known.insert(name.clone(), *value)),
            Axis::Var {} => {
                let value = given.get(name).ok_or_else(|| format!("no value for the axis `{name}`"))?;
                known.insert(name.clone(), *value);
            }
            Axis::Expr { .. } => {}
        }
    }
    let expressions: Vec<(&String, &String)> = definition
        .axes
        .iter()
        .filter_map(|(name, axis)| if let Axis::Expr { expression } = axis { Some((name, expression)) } else { None })
        .collect();
    for _ in 0..=expressions.len() {
        for (name, expression) in &expressions {
            if let Ok(value) = axes::evaluate(expression, &known) {
                known.insert((*name).clone(), value);
            }
        }
    }
    for (name, expression) in expressions {
        axes::evaluate(expression, &known).map_err(|why| format!("the axis `{name}`: {why}"))?;
    }
    Ok(known)
}

fn dtype(name: &str, spec: &TensorSpec) -> Result<Dtype, String> {
    Dtype::of(&spec.dtype).ok_or_else(|| format!("`{name}` is {}, which no CPU computes with", spec.dtype))
}

fn tensor(name: &str, spec: &TensorSpec, axes: &BTreeMap<String, i64>) -> Result<Tensor, String> {
    let dtype = dtype(name, spec)?;
    let dimension = |axis: &String| {
        let value = axes.get(axis).copied().or_else(|| axis.parse().ok());
        value
            .and_then(|value| usize::try_from(value).ok())
            .filter(|value| *value > 0)
            .ok_or_else(|| format!("`{name}`: `{axis}` is no dimension of at least 1"))
    };
    let shape = spec.shape.iter().flatten().map(dimension).collect::<Result<Vec<_>, _>>()?;
    let bytes = shape.iter().try_fold(dtype.size(), |bytes, n| bytes.checked_mul(*n));
    match bytes {
        Some(bytes) if bytes <= LARGEST => Ok(Tensor { name: name.to_owned(), dtype, shape }),
        _ => Err(format!("`{name}` {shape:?} is larger than {LARGEST} bytes")),
    }
}

fn program(definition: &Definition, path: &Path) -> Result<Program, ForeignError> {
    let text = read(path)?;
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    if extension != "json" {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (main, style) = (format!("candidate.{extension}"), style_of(&text, definition));
        let language = Language::of_extension(&extension);
        let files = vec![(main.clone(), text)];
        return Ok(Program { name, language, files, main, entry: "run".to_owned(), style, flags: Vec::new() });
    }
    let solution: Solution = serde_json::from_str(&text).map_err(|error| ForeignError::schema(path, error))?;
    if solution.definition != definition.name {
        let why = format!("it solves `{}`, and this folder is `{}`", solution.definition, definition.name);
        return Err(ForeignError::schema(path, why));
    }
    let (main, entry) = solution
        .spec
        .entry_point
        .split_once("::")
        .ok_or_else(|| ForeignError::schema(path, "an entry point is written FILE::FUNCTION"))?;
    let language = language(&solution, main)?;
    if let Some(bad) = solution.sources.iter().find(|source| !is_inside(&source.path)) {
        return Err(ForeignError::schema(path, format!("`{}` leads out of the solution", bad.path)));
    }
    if !solution.sources.iter().any(|source| source.path == main) {
        return Err(ForeignError::schema(path, format!("`{main}` is not among its sources")));
    }
    let is_other = |source: &&SourceFile| source.path != main && is_c(&source.path);
    if language != Language::Python
        && let Some(other) = solution.sources.iter().find(is_other)
    {
        let what = format!("`{}` lies beside `{main}`, and a C or C++ solution is one file here", other.path);
        return Err(ForeignError::needs(what, "put them into one file"));
    }
    Ok(Program {
        name: solution.name.clone(),
        language,
        main: main.to_owned(),
        entry: entry.to_owned(),
        style: if solution.spec.destination_passing_style { Style::Writes } else { Style::Returns },
        // Flags of their evaluator's build line mean nothing to ours.
        flags: Vec::new(),
        files: solution.sources.into_iter().map(|source| (source.path, source.content)).collect(),
    })
}

/// A bare file's style: a Python `run` that names the last output as a parameter writes to it.
fn style_of(text: &str, definition: &Definition) -> Style {
    let Some(at) = text.find("def run(") else { return Style::Writes };
    let parameters = text[at..].split(')').next().unwrap_or_default();
    let words: Vec<&str> = parameters.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let is_named = |(name, _): &(String, TensorSpec)| words.contains(&name.as_str());
    if definition.outputs.0.last().is_some_and(is_named) { Style::Writes } else { Style::Returns }
}

fn is_inside(path: &str) -> bool {
    let path = Path::new(path);
    path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn is_c(path: &str) -> bool {
    let extension = Path::new(path).extension().unwrap_or_default();
    ["c", "cc", "cpp", "cxx", "h", "hpp"].iter().any(|known| extension == *known)
}

fn language(solution: &Solution, main: &str) -> Result<Language, ForeignError> {
    let spec = &solution.spec;
    let named: Vec<String> = spec.language.iter().chain(&spec.languages).map(|name| name.to_lowercase()).collect();
    let extension = Path::new(main).extension().unwrap_or_default().to_string_lossy();
    if let Some(gpu) = named.iter().find(|name| GPU.contains(&name.as_str()) || name.as_str() == "cuda_cpp") {
        return Err(ForeignError::needs(
            format!("the solution `{}` is written in {gpu} and needs a GPU: this judge runs on the CPU", solution.name),
            "give a solution in python, pytorch, c or cpp, or judge it on a machine with the GPU",
        ));
    }
    match named.first().map(String::as_str) {
        Some("python" | "pytorch" | "numpy") => Ok(Language::Python),
        Some("c" | "cpp" | "c++") if spec.binding.as_deref().is_some_and(|binding| binding != "c") => {
            Err(ForeignError::needs(
                format!("the binding `{}` is a Python extension", spec.binding.as_deref().unwrap_or_default()),
                "leave the binding out, or say `c`: a plain function of pointers to the inputs, then to the outputs, \
                 then the axes that vary",
            ))
        }
        Some("c" | "cpp" | "c++") => Ok(if extension == "c" { Language::C } else { Language::Cpp }),
        Some(other) => Err(ForeignError::needs(
            format!("the solution `{}` is written in `{other}`, which is not known", solution.name),
            "languages here are python, pytorch, numpy, c and cpp",
        )),
        None => Ok(Language::of_extension(&extension)),
    }
}

#[cfg(test)]
mod tests;
