//! A candidate for a definition: a solution's JSON, or a bare Python or C file whose function is `run`.
//!
//! Must not take a solution that only a GPU can run for one that failed.

use super::{Definition, TensorSpec};
use crate::ForeignError;
use crate::error::read;
use crate::task::{Program, Style};
use model::Language;
use serde::Deserialize;
use std::path::Path;

/// Languages of solutions that need a GPU, by the names that the benchmarks give them.
const GPU: [&str; 9] = ["cuda", "triton", "tlx", "cute_dsl", "cutile", "cudnn_frontend", "cutlass", "cudnn", "cublas"];

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

fn yes() -> bool {
    true
}

/// Reads it.
pub(super) fn program(definition: &Definition, path: &Path) -> Result<Program, ForeignError> {
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
pub(super) fn style_of(text: &str, definition: &Definition) -> Style {
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
