//! What every foreign format is read into: a reference, a candidate, shapes with their inputs, and a bound on errors.
//!
//! Must not depend on where it came from, nor hold anything that only one format needs.

use crate::Dtype;
use model::{Digest, Language};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A question in somebody's own format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The problem's name.
    pub name: String,
    /// Its answer by definition: the oracle, and what a candidate is compared with unless `against` is given.
    pub reference: Program,
    /// What is judged.
    pub candidate: Program,
    /// Another base of the comparison.
    pub against: Option<Program>,
    /// Draws inputs that can't be described: a function that returns all of them.
    pub draws: Option<Program>,
    /// On what.
    pub shapes: Vec<Shape>,
    /// Remarks for the record: what of the format is not done.
    pub remarks: Vec<String>,
}

/// Code with one function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Its name in records.
    pub name: String,
    /// The language.
    pub language: Language,
    /// Files: path and text.
    pub files: Vec<(String, String)>,
    /// The file that defines the function.
    pub main: String,
    /// The function.
    pub entry: String,
    /// How it gives its outputs.
    pub style: Style,
    /// Compiler flags.
    pub flags: Vec<String>,
}

impl Program {
    /// Identity: everything that runs.
    pub fn digest(&self) -> Digest {
        let files: Vec<String> = self.files.iter().map(|(path, text)| format!("{path}\0{text}")).collect();
        Digest::of(format!(
            "{}\0{}\0{:?}\0{}\0{}",
            self.language,
            self.entry,
            self.style,
            self.flags.join("\0"),
            files.join("\0")
        ))
    }

    /// The text of the main file.
    pub fn text(&self) -> &str {
        self.files.iter().find(|(path, _)| *path == self.main).map_or("", |(_, text)| text)
    }
}

/// How a function gives its outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// It returns them.
    Returns,
    /// It writes to its last arguments.
    Writes,
}

/// One shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Its name in reports.
    pub name: String,
    /// Its name in the format's own records.
    pub id: String,
    /// Axes that vary.
    pub axes: BTreeMap<String, i64>,
    /// The record as it was read, to be written back.
    pub record: serde_json::Value,
    /// Inputs, in the function's order.
    pub inputs: Vec<Input>,
    /// Outputs, in order.
    pub outputs: Vec<Tensor>,
    /// What counts as right.
    pub bound: Bound,
}

impl Shape {
    /// Input tensors, in order, and what they hold.
    pub fn tensors(&self) -> impl Iterator<Item = (&Tensor, &Fill)> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Tensor(tensor, fill) => Some((tensor, fill)),
            Input::Scalar(..) => None,
        })
    }
}

/// A tensor's name, type and dimensions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its elements.
    pub dtype: Dtype,
    /// Its dimensions, slowest first.
    pub shape: Vec<usize>,
}

impl Tensor {
    /// Elements.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.count() * self.dtype.size()
    }
}

/// One argument of the function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// A tensor and what it holds.
    Tensor(Tensor, Fill),
    /// A plain value, with the type that it is declared as.
    Scalar(serde_json::Value, Dtype),
}

/// What a tensor holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Standard normal, or small integers; fresh for every call.
    Random,
    /// Bytes of a file, the same for every call.
    File {
        /// Which.
        path: PathBuf,
        /// From where on.
        offset: u64,
    },
    /// What the task's own function draws, fresh for every call.
    Drawn,
}

/// What counts as right: |got - want| <= absolute + relative * |want| for this share of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Absolute part.
    pub absolute: f64,
    /// Relative part.
    pub relative: f64,
    /// Share of elements that have to be within.
    pub share: f64,
}

impl Default for Bound {
    /// The evaluators' own default: 1e-2 both ways, for every element.
    fn default() -> Self {
        Self { absolute: 1e-2, relative: 1e-2, share: 1.0 }
    }
}
