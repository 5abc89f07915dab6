//! The shape of a problem that says it only by running: KernelBench's `get_inputs`.
//!
//! Must not run the problem's code here: it runs confined, with nothing of a candidate's.

use super::Bench;
use crate::builder::open_plain;
use crate::errand::{self, Errand};
use crate::judge::EnvError;
use crate::python::Framework;
use crate::sandbox::SandboxError;
use ::foreign::{Dtype, Fill, Input, Shape, Task, Tensor, kernelbench};
use rand::RngExt;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

const SCRIPT: &str = include_str!("describe.py");
/// One run of the reference with its imports.
const LIMIT: Duration = Duration::from_secs(120);
/// Longest description that is read, bytes.
const LONGEST: u64 = 1 << 20;

#[derive(Deserialize)]
struct Description {
    init: Value,
    inputs: Vec<Said>,
    outputs: Vec<Said>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Tensor { dtype: String, shape: Vec<usize> },
    Value { value: Value },
}

impl Bench {
    /// The one shape of such a task.
    pub(super) fn describe(&mut self, task: &Task) -> Result<Shape, EnvError> {
        let wrong = |why: String| EnvError::Problem(format!("the problem `{}` can't be described: {why}", task.name));
        let problem = task.reference.files.iter().find(|(path, _)| path == "problem.py");
        let (_, text) = problem.ok_or_else(|| wrong("it has no shapes".to_owned()))?;
        let interpreter = self.interpreters.get(Framework::Torch)?;
        let job = self.builder.job().map_err(SandboxError::Os)?;
        job.write("problem.py", text).map_err(SandboxError::Os)?;
        let path = |name: &str| job.path().join(name).display().to_string();
        let mut arguments = vec![
            protocol::EVALUATOR_ROLE.to_owned(),
            self.confinement.word().to_owned(),
            job.path().display().to_string(),
            protocol::folders(&interpreter.folders),
            interpreter.program(),
        ];
        arguments.extend(["-I", "-B", "-c", SCRIPT].map(str::to_owned));
        arguments.extend([path("problem.py"), path("description.json")]);
        let sees = interpreter.folders.as_slice();
        let errand = Errand { arguments: &arguments, writable: job.path(), sees, limit: LIMIT };
        let (log, _) = errand::run(self.confinement, &errand)?;
        let mut text = String::new();
        open_plain(&job.path().join("description.json"))
            .and_then(|file| file.take(LONGEST).read_to_string(&mut text))
            .map_err(|_| wrong(log.trim().lines().last().unwrap_or("it said nothing").to_owned()))?;
        let description: Description = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        shape(&description, self.coins.random::<u32>()).map_err(wrong)
    }
}

fn shape(description: &Description, seed: u32) -> Result<Shape, String> {
    let mut inputs =
        vec![Input::Scalar((seed >> 1).into(), Dtype::I64), Input::Scalar(description.init.clone(), Dtype::F64)];
    for (i, said) in description.inputs.iter().enumerate() {
        inputs.push(match said {
            Said::Tensor { dtype, shape } => Input::Tensor(tensor(format!("input {i}"), dtype, shape)?, Fill::Drawn),
            Said::Value { value } => Input::Scalar(value.clone(), Dtype::F64),
        });
    }
    let outputs = description.outputs.iter().enumerate().map(|(i, said)| match said {
        Said::Tensor { dtype, shape } => tensor(format!("output {i}"), dtype, shape),
        Said::Value { .. } => Err(format!("output {i} is no tensor")),
    });
    Ok(Shape {
        name: "get_inputs".to_owned(),
        id: String::new(),
        axes: BTreeMap::new(),
        record: Value::Null,
        inputs,
        outputs: outputs.collect::<Result<_, _>>()?,
        bound: kernelbench::BOUND,
    })
}

fn tensor(name: String, dtype: &str, shape: &[usize]) -> Result<Tensor, String> {
    let dtype = Dtype::of(dtype).ok_or_else(|| format!("{name} is {dtype}, which is not passed"))?;
    Ok(Tensor { name, dtype, shape: shape.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_and_values() {
        let text = r#"{"init": [3, 1e-5], "inputs": [{"dtype": "float32", "shape": [2, 3]}, {"value": 7}],
                       "outputs": [{"dtype": "bfloat16", "shape": [2]}]}"#;
        let shape = shape(&serde_json::from_str(text).unwrap(), 8).unwrap();
        assert_eq!(shape.tensors().count(), 1);
        assert_eq!(shape.inputs.len(), 4, "seed, init, tensor, value");
        assert_eq!(shape.outputs[0].dtype, Dtype::Bf16);
    }

    #[test]
    fn what_cannot_be_passed_is_named() {
        let check = |inputs: &str, outputs: &str, part: &str| {
            let text = format!(r#"{{"init": [], "inputs": [{inputs}], "outputs": [{outputs}]}}"#);
            let error = shape(&serde_json::from_str(&text).unwrap(), 0).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        check(r#"{"dtype": "complex64", "shape": [2]}"#, "", "input 0 is complex64");
        check("", r#"{"value": 3}"#, "output 0 is no tensor");
    }
}
