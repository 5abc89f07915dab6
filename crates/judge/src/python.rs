//! Python candidates: which interpreter runs them, and what its runner is told.
//!
//! Must not run a line of a candidate's. The interpreter that is asked for its version here is the user's own, run as
//! the user; candidates run in the confined role alone.

use crate::judge::{EnvError, Judge};
use crate::memory;
use crate::runner::{Argument, Code};
use crate::sandbox::{Confinement, SandboxError};
use model::{Digest, Source};
use problems::Role;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

/// Names another interpreter than the first that fits.
const VARIABLE: &str = "ROOFLAB_PYTHON";
/// The way out where a module is missing.
pub const NAME_ANOTHER: &str = " (install it, or name an interpreter that has it in ROOFLAB_PYTHON)";
/// What an interpreter says of itself. Nothing is imported: PyTorch alone takes seconds.
const ASK: &str = r#"
import importlib.metadata, importlib.util, json, os, sys
def version(name):
    if importlib.util.find_spec(name) is None:
        return None
    try:
        return importlib.metadata.version(name)
    except Exception:
        return "?"
folders = [sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable))] + sys.path
folders = sorted({os.path.realpath(f) for f in folders if f and os.path.isdir(f)})
program = os.path.join(os.path.realpath(os.path.dirname(sys.executable)), os.path.basename(sys.executable))
print(json.dumps({"program": program, "folders": folders, "version": sys.version.split()[0],
                  "numpy": version("numpy"), "torch": version("torch")}))
"#;

/// What tensors are to a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framework {
    /// NumPy arrays.
    Numpy,
    /// PyTorch tensors.
    Torch,
    /// None: any interpreter will do.
    Plain,
}

impl Framework {
    /// The package's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Numpy => "numpy",
            Self::Torch => "torch",
            Self::Plain => "its standard library",
        }
    }

    /// PyTorch where the text imports it.
    pub fn of(text: &str) -> Self {
        let imports = |line: &str| {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
            matches!((words.next(), words.next()), (Some("import" | "from"), Some("torch")))
        };
        if text.lines().any(imports) { Self::Torch } else { Self::Numpy }
    }
}

/// An interpreter of this machine.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct Interpreter {
    program: PathBuf,
    /// What it reads: its library, its packages, wherever they lie.
    pub folders: Vec<PathBuf>,
    version: String,
    numpy: Option<String>,
    torch: Option<String>,
}

impl fmt::Display for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Python {}", self.version)?;
        for (name, version) in [("numpy", &self.numpy), ("torch", &self.torch)] {
            if let Some(version) = version {
                write!(f, ", {name} {version}")?;
            }
        }
        Ok(())
    }
}

/// What the system says of its processors: libraries choose their code by it.
const PROCESSORS: &str = "/sys/devices/system/cpu";

impl Interpreter {
    fn ask(program: &Path) -> Result<Self, String> {
        let asked = Command::new(program).args(["-I", "-c", ASK]).stdin(Stdio::null()).output();
        let asked = asked.map_err(|error| error.to_string())?;
        if !asked.status.success() {
            return Err(String::from_utf8_lossy(&asked.stderr).lines().last().unwrap_or("it failed").to_owned());
        }
        let mut found: Self = serde_json::from_slice(&asked.stdout).map_err(|error| error.to_string())?;
        found.folders.extend([PathBuf::from(PROCESSORS)].into_iter().filter(|folder| folder.is_dir()));
        let all = found.folders.clone();
        found.folders.retain(|folder| !all.iter().any(|other| folder != other && folder.starts_with(other)));
        Ok(found)
    }

    fn has(&self, framework: Framework) -> bool {
        match framework {
            Framework::Numpy => self.numpy.is_some(),
            Framework::Torch => self.torch.is_some(),
            Framework::Plain => true,
        }
    }

    /// The executable.
    pub fn program(&self) -> String {
        self.program.display().to_string()
    }

    /// The first of `$ROOFLAB_PYTHON` (alone, where it is set), `python3` on the path and the system's that has the
    /// framework.
    ///
    /// # Errors
    /// What was tried, and the fix.
    pub fn find(framework: Framework) -> Result<Self, EnvError> {
        let programs = match std::env::var_os(VARIABLE) {
            Some(program) => vec![PathBuf::from(program)],
            None => vec![PathBuf::from("python3"), PathBuf::from("/usr/bin/python3")],
        };
        let mut tried = Vec::new();
        for program in &programs {
            match Self::ask(program) {
                Ok(found) if found.has(framework) => return Ok(found),
                Ok(found) => tried.push(format!("{} has no {}", found.program.display(), framework.name())),
                Err(why) => tried.push(format!("{}: {why}", program.display())),
            }
        }
        let name = framework.name();
        let install = match framework {
            Framework::Plain => "Install python3".to_owned(),
            _ => format!(
                "Install it (python3 -m venv DIR && DIR/bin/pip install {name}, or your system's python3-{name})"
            ),
        };
        let tried = tried.join("; ");
        Err(EnvError::Job(format!("no Python with {name}: {tried}. {install}, and name the interpreter in {VARIABLE}")))
    }

    /// It ended before it came to a candidate: how.
    pub fn broken(&self, how: &str) -> SandboxError {
        let program = self.program.display();
        SandboxError::Step(format!("the interpreter {program} did not start in the sandbox: {how} ({self})"))
    }
}

/// Interpreters by framework, each looked for once.
#[derive(Default)]
pub struct Interpreters {
    numpy: Option<Rc<Interpreter>>,
    torch: Option<Rc<Interpreter>>,
    plain: Option<Rc<Interpreter>>,
}

impl Interpreters {
    /// Libraries of the interpreters that were asked for, with their versions.
    pub fn libraries(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for found in [&self.numpy, &self.torch].into_iter().flatten() {
            let python = Some(found.version.clone());
            for (name, version) in [("python", &python), ("numpy", &found.numpy), ("torch", &found.torch)] {
                let known = version.as_ref().map(|version| (name.to_owned(), version.clone()));
                // One interpreter may have both.
                all.extend(known.filter(|known| !all.contains(known)));
            }
        }
        all
    }

    /// The interpreter with this framework.
    ///
    /// # Errors
    /// When there is none.
    pub fn get(&mut self, framework: Framework) -> Result<Rc<Interpreter>, EnvError> {
        let place = match framework {
            Framework::Numpy => &mut self.numpy,
            Framework::Torch => &mut self.torch,
            Framework::Plain => &mut self.plain,
        };
        if place.is_none() {
            *place = Some(Rc::new(Interpreter::find(framework)?));
        }
        Ok(Rc::clone(place.as_ref().expect("found above")))
    }
}

/// One argument as an interpreter sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Type of its elements: `f32`, `bf16`, `i64`, `bool`, ...
    pub dtype: String,
    /// Bytes of one element.
    pub size: usize,
    /// Dimensions, slowest first.
    pub shape: Vec<usize>,
}

/// One argument of the candidate's function.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// The argument's memory of this position.
    Array(usize),
    /// The order's size of this position.
    Size(usize),
    /// A plain value.
    Value(serde_json::Value),
}

impl Item {
    fn json(&self) -> serde_json::Value {
        match self {
            Self::Array(i) => json!(["array", i]),
            Self::Size(i) => json!(["size", i]),
            Self::Value(value) => json!(["value", value]),
        }
    }
}

/// How a candidate's function is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its arguments, in order.
    pub items: Vec<Item>,
    /// Memories that a returned value is copied to.
    pub outputs: Vec<usize>,
    /// Arguments of its `prepare`.
    pub prepare: Vec<Item>,
    /// Whether a returned value must have the output's own element type.
    pub strict: bool,
    /// Whether it draws: then the order's first size is its seed.
    pub seeded: bool,
}

/// A Python candidate, ready for a runner.
pub struct PythonCode {
    /// Who runs it.
    pub interpreter: Rc<Interpreter>,
    /// Its files as JSON, in a sealed memory file.
    pub source: File,
    /// Digest of that.
    pub digest: Digest,
    /// Tensors.
    pub framework: Framework,
    /// The file that defines the function.
    pub main: String,
    /// The function.
    pub entry: String,
    /// How it is called.
    pub call: Call,
    /// Whether it packs weights.
    pub prepares: bool,
}

/// What a candidate is made of.
pub struct Text<'a> {
    /// Its files: path and text.
    pub files: &'a [(String, String)],
    /// The one that defines the function.
    pub main: &'a str,
    /// The function.
    pub entry: &'a str,
    /// Tensors.
    pub framework: Framework,
}

impl PythonCode {
    /// Packs a candidate.
    ///
    /// # Errors
    /// When the kernel refuses the memory file.
    pub fn new(interpreter: Rc<Interpreter>, text: &Text<'_>, call: Call) -> Result<Self, EnvError> {
        let packed = serde_json::to_vec(text.files).expect("texts are plain data");
        Ok(Self {
            interpreter,
            source: memory::sealed(&packed).map_err(SandboxError::Os)?,
            digest: Digest::of(&packed),
            framework: text.framework,
            main: text.main.to_owned(),
            entry: text.entry.to_owned(),
            prepares: !call.prepare.is_empty(),
            call,
        })
    }

    /// The role's arguments before the buffers.
    pub fn words(&self, confinement: Confinement, arguments: &[Argument]) -> Vec<String> {
        let mode = match (confinement, self.framework) {
            // PyTorch's libraries compile kernels for the shapes that they meet.
            (Confinement::Confined, Framework::Torch) => protocol::CONFINED_WIDE,
            _ => confinement.word(),
        };
        let items = |items: &[Item]| items.iter().map(Item::json).collect::<Vec<_>>();
        let plan = json!({
            "framework": self.framework.name(),
            "main": self.main,
            "entry": self.entry,
            "call": items(&self.call.items),
            "outputs": self.call.outputs,
            "prepare": items(&self.call.prepare),
            "strict": self.call.strict,
            "seed": self.call.seeded,
            "arrays": arguments.iter().map(|argument| argument.array.as_deref()).collect::<Vec<_>>(),
        });
        vec![
            protocol::PYTHON_ROLE.to_owned(),
            mode.to_owned(),
            protocol::folders(&self.interpreter.folders),
            self.interpreter.program(),
            plan.to_string(),
        ]
    }
}

/// A problem's Python candidate: called like the C function, with arrays for pointers; it writes to the output or
/// returns it.
///
/// # Errors
/// When there is no interpreter for it.
pub fn candidate(judge: &mut Judge, source: &Source) -> Result<Code, EnvError> {
    let framework = Framework::of(&source.text);
    let interpreter = judge.interpreters.get(framework)?;
    let problem = &judge.problem;
    let arrays = 0..problem.arguments.len();
    let sizes = (0..problem.axes.len()).map(Item::Size);
    let of_role = |role: Role| arrays.clone().filter(move |i| problem.arguments[*i].role == role);
    let (weights, packed) = (of_role(Role::Weight), of_role(Role::Packed));
    let packs = packed.clone().next().is_some() && source.text.contains(&format!("def {}_prepare(", problem.entry));
    let call = Call {
        items: arrays.clone().map(Item::Array).chain(sizes).collect(),
        outputs: vec![problem.output()],
        prepare: if packs { weights.chain(packed).map(Item::Array).collect() } else { Vec::new() },
        strict: false,
        seeded: false,
    };
    let files = [("candidate.py".to_owned(), source.text.clone())];
    let text = Text { files: &files, main: "candidate.py", entry: &problem.entry, framework };
    Ok(Code::Python(Rc::new(PythonCode::new(interpreter, &text, call)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_framework_is_what_is_imported() {
        let check = |text: &str, expected| assert_eq!(Framework::of(text), expected, "{text}");
        check("import numpy as np\n", Framework::Numpy);
        check("def f(x):\n    import torch\n", Framework::Torch);
        check("from torch.nn import functional as F\n", Framework::Torch);
        check("# a torch in the dark\nimport torchless\n", Framework::Numpy);
    }

    #[test]
    fn items_are_pairs() {
        assert_eq!(Item::Array(2).json().to_string(), r#"["array",2]"#);
        assert_eq!(Item::Value(json!(1e-6)).json().to_string(), r#"["value",1e-6]"#);
    }
}
