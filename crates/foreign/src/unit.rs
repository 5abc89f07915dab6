//! The translation unit of a C or C++ candidate for somebody else's problem.
//!
//! Must not call a compiler. The function takes a pointer to every input tensor, plain values for scalars, a pointer to
//! every output, then the axes that vary, by name in alphabetical order.

use crate::Dtype;
use crate::task::{Input, Program, Shape};
use std::fmt::Write;

/// One argument of the function's call.
enum Argument {
    /// Buffer `index`, written or not, of this element type.
    Buffer { index: usize, writes: bool, dtype: Dtype },
    /// A value as a literal.
    Value(String),
}

impl Program {
    /// The whole unit for one shape: the candidate's text, then `rooflab_entry` and an empty `rooflab_prepare`.
    pub fn unit(&self, shape: &Shape) -> String {
        let pass = |argument: &Argument| match argument {
            Argument::Buffer { index, writes, dtype } => {
                format!("({}{} *)b[{index}]", if *writes { "" } else { "const " }, dtype.c())
            }
            Argument::Value(text) => text.clone(),
        };
        let passed: Vec<String> = arguments(shape).iter().map(pass).collect();
        let mut text = String::from("#include <stddef.h>\n#include <stdint.h>\n");
        let _ = writeln!(text, "#line 1 \"{}\"\n{}\n#line 1 \"rooflab.c\"", self.main, self.text());
        text.push_str("#ifdef __cplusplus\n#define ROOFLAB_C extern \"C\"\n#else\n#define ROOFLAB_C\n#endif\n");
        let export = "ROOFLAB_C __attribute__((visibility(\"default\"))) void";
        let _ = writeln!(
            text,
            "{export} rooflab_entry(void *const *b, const int64_t *s) {{ (void)b, (void)s; {}({}); }}",
            self.entry,
            passed.join(", ")
        );
        let _ = writeln!(text, "{export} rooflab_prepare(void *const *b, const int64_t *s) {{ (void)b, (void)s; }}");
        text
    }
}

fn arguments(shape: &Shape) -> Vec<Argument> {
    let mut arguments = Vec::new();
    let mut buffers = 0;
    for input in &shape.inputs {
        arguments.push(match input {
            Input::Tensor(tensor, _) => {
                buffers += 1;
                buffer(buffers - 1, false, tensor.dtype)
            }
            Input::Scalar(value, dtype) if dtype.is_float() => {
                Argument::Value(format!("{:?}", value.as_f64().unwrap_or_default()))
            }
            Input::Scalar(value, _) => {
                let number = value.as_bool().map(i64::from).or(value.as_i64()).unwrap_or_default();
                Argument::Value(number.to_string())
            }
        });
    }
    for (i, tensor) in shape.outputs.iter().enumerate() {
        arguments.push(buffer(buffers + i, true, tensor.dtype));
    }
    arguments.extend(shape.axes.values().map(|value| Argument::Value(value.to_string())));
    arguments
}

fn buffer(index: usize, writes: bool, dtype: Dtype) -> Argument {
    Argument::Buffer { index, writes, dtype }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Bound, Fill, Style, Tensor};
    use model::Language;
    use serde_json::json;

    fn shape() -> Shape {
        let tensor = |name: &str, dtype| Tensor { name: name.into(), dtype, shape: vec![2, 3] };
        Shape {
            name: "m=2".into(),
            id: "u".into(),
            axes: [("m".to_owned(), 2)].into(),
            record: json!({}),
            inputs: vec![
                Input::Tensor(tensor("x", Dtype::Bf16), Fill::Random),
                Input::Scalar(json!(1e-6), Dtype::F32),
                Input::Scalar(json!(true), Dtype::Bool),
            ],
            outputs: vec![tensor("y", Dtype::F32)],
            bound: Bound::default(),
        }
    }

    #[test]
    fn the_call_has_pointers_values_outputs_axes() {
        let program = Program {
            name: "p".into(),
            language: Language::C,
            files: vec![("k.c".to_owned(), "TEXT".to_owned())],
            main: "k.c".into(),
            entry: "f".into(),
            style: Style::Writes,
            flags: Vec::new(),
        };
        let unit = program.unit(&shape());
        assert!(unit.contains("#line 1 \"k.c\"\nTEXT\n"), "{unit}");
        assert!(unit.contains("f((const uint16_t *)b[0], 1e-6, 1, (float *)b[1], 2);"), "{unit}");
    }
}
