//! Prompts from what measurement knows, by templates that users can override.
//!
//! Must not look anything up: a [`Brief`] is filled in by whoever has the map, the campaign and the ledger.

use crate::ask::{AskError, Prompt};
use crate::fault::Fault;
use crate::patch::Files;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior, context};
use serde::Serialize;
use similar::TextDiff;
use std::path::Path;

/// The shipped templates by file name.
const SHIPPED: [(&str, &str); 3] = [
    ("system.txt", include_str!("../templates/system.txt")),
    ("question.txt", include_str!("../templates/question.txt")),
    ("repair.txt", include_str!("../templates/repair.txt")),
];
/// Lines of a compiler's message that are shown: the first error and what it points at.
const MESSAGE_LINES: usize = 12;
/// Characters of one line of it.
const MESSAGE_WIDTH: usize = 200;

/// What measurement knows, in the words that a prompt uses. Numbers come rendered with their units where a reader needs
/// no more than to read them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Brief {
    /// The problem.
    pub problem: ProblemFacts,
    /// Where the present best stands, by workload; the one that pays most first.
    pub target: Vec<Standing>,
    /// Figures of the map that matter for it.
    pub machine: Vec<Figure>,
    /// The problem's hints.
    pub hints: String,
    /// What the ledger knows of this op: one finding a line.
    pub ledger: Vec<String>,
    /// Failures, newest first.
    pub failures: Vec<Failure>,
    /// Diverse parents; their code is best given as [`difference`] from the best.
    pub others: Vec<Parent>,
    /// The present best; its code is `files`.
    pub best: Parent,
    /// The code to be changed, by file name.
    pub files: Files,
    /// Which proposal, so that no two prompts are the same.
    pub number: String,
}

/// The problem in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProblemFacts {
    /// What is computed.
    pub title: String,
    /// The function's prototype.
    pub prototype: String,
    /// Constants, layouts, roles, tolerance, shapes: one a line.
    pub facts: Vec<String>,
}

/// How near to its ceiling a workload is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Standing {
    /// Which.
    pub workload: String,
    /// Time of a call, with its unit.
    pub time: String,
    /// The floor's time, with its unit.
    pub floor: Option<String>,
    /// Floor over time.
    pub fraction: Option<f64>,
    /// What bounds it.
    pub bound: Option<String>,
}

/// A figure of the map.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    /// What it is of.
    pub name: String,
    /// With its unit.
    pub value: String,
}

/// An earlier candidate.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Parent {
    /// Its number, where it has one.
    pub id: Option<u32>,
    /// What it was meant to do.
    pub note: String,
    /// Its paired effect with the interval, in words.
    pub effect: String,
    /// Notes of the candidates that led to it.
    pub lineage: Vec<String>,
    /// Its code, or how it differs from the best.
    pub code: String,
}

/// A candidate that did not work.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Failure {
    /// What it was meant to do.
    pub note: String,
    /// What the judge said, in a few words.
    pub verdict: String,
    /// The compiler's message or the rule's evidence.
    pub message: String,
}

impl Failure {
    /// With no more of the message than is of use.
    pub fn new(note: impl Into<String>, verdict: impl Into<String>, message: &str) -> Self {
        let narrow = |line: &str| line.chars().take(MESSAGE_WIDTH).collect::<String>();
        let lines: Vec<String> = message.lines().take(MESSAGE_LINES).map(narrow).collect();
        Self { note: note.into(), verdict: verdict.into(), message: lines.join("\n") }
    }
}

/// How `other` differs from `best`, as a unified diff with one line of context.
pub fn difference(best: &str, other: &str) -> String {
    TextDiff::from_lines(best, other).unified_diff().context_radius(1).to_string()
}

/// Templates, checked.
pub struct Templates(Environment<'static>);

impl Templates {
    /// Those that rooflab ships.
    ///
    /// # Errors
    /// Never for a build whose tests pass.
    pub fn shipped() -> Result<Self, AskError> {
        Self::with(|_| Ok(None))
    }

    /// Those of a folder (`system.txt`, `question.txt`, `repair.txt`); the shipped one for each that isn't there.
    ///
    /// # Errors
    /// When a file can't be read or is no template.
    pub fn from_folder(folder: &Path) -> Result<Self, AskError> {
        if !folder.is_dir() {
            return Err(AskError::Unusable { what: format!("{} is no folder of templates", folder.display()) });
        }
        Self::with(|name| match std::fs::read_to_string(folder.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(AskError::Unusable { what: format!("{}: {error}", folder.join(name).display()) }),
        })
    }

    /// The shipped templates as files, for users who want to change them: name and text.
    pub fn files() -> [(&'static str, &'static str); 3] {
        SHIPPED
    }

    fn with(own: impl Fn(&str) -> Result<Option<String>, AskError>) -> Result<Self, AskError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for (name, shipped) in SHIPPED {
            let text = own(name)?.unwrap_or_else(|| shipped.to_owned());
            environment.add_template_owned(name, text).map_err(unusable)?;
        }
        Ok(Self(environment))
    }

    /// The prompt for a brief. `system` stands in for the template of that name, where a model has one of its own.
    ///
    /// # Errors
    /// When a template asks for what a brief doesn't have.
    pub fn prompt(&self, brief: &Brief, system: Option<&str>) -> Result<Prompt, AskError> {
        let values = Value::from(Serde(brief));
        let of_model = || system.map(|text| self.0.render_str(text, values.clone()).map_err(unusable));
        let system = of_model().unwrap_or_else(|| self.render("system.txt", values.clone()))?;
        Ok(Prompt::new(system, self.render("question.txt", values)?))
    }

    /// What is sent back once.
    ///
    /// # Errors
    /// When the template asks for more than `fault` and `kind`.
    pub fn repair(&self, fault: &Fault) -> Result<String, AskError> {
        self.render("repair.txt", context! { fault => fault.to_string(), kind => fault.kind() })
    }

    fn render(&self, name: &str, values: Value) -> Result<String, AskError> {
        self.0.get_template(name).and_then(|template| template.render(values)).map_err(unusable)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of map_err")]
fn unusable(error: minijinja::Error) -> AskError {
    AskError::Unusable { what: format!("a prompt's template: {error:#}") }
}
