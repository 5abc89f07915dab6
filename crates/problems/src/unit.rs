//! C texts: the header, a candidate's translation unit, and the oracle's.
//!
//! Must not call a compiler. The texts depend on the problem and the candidate alone.

use crate::problem::{Argument, Dtype, Problem, Role};
use model::{Language, Source};
use std::fmt::Write;

/// What a candidate is told of the pool.
const POOL: &str = "\
/* Calls task(context, i) for every i from 0 to count - 1, on this thread and the pool's, and returns when all of these
   calls have returned. In a task it is an ordinary loop. */
typedef void rooflab_task(void *context, int64_t i);
void rooflab_parallel(int64_t count, rooflab_task *task, void *context);";

/// How a candidate, and the oracle, may read and write bf16.
const BF16: &str = "\
/* bfloat16 is the upper half of a float: its bits are in a uint16_t. Rounds to the nearest, to even in a tie. */
static inline float rooflab_from_bf16(uint16_t x) {
    union { uint32_t bits; float value; } as = { (uint32_t)x << 16 };
    return as.value;
}
static inline uint16_t rooflab_to_bf16(float x) {
    union { float value; uint32_t bits; } as = { x };
    return (uint16_t)((as.bits + 0x7fffu + (as.bits >> 16 & 1u)) >> 16);
}
";

/// The pool's end in the library: the runner sets the pointer. Elsewhere, in a library that was exported, it is a loop.
const PARALLEL: &str = "\
__attribute__((visibility(\"default\"))) void (*rooflab_pool)(int64_t, rooflab_task *, void *);
void rooflab_parallel(int64_t count, rooflab_task *task, void *context) {
    if (rooflab_pool) {
        rooflab_pool(count, task, context);
        return;
    }
    for (int64_t i = 0; i < count; i++) task(context, i);
}
";

impl Problem {
    /// `problem.h`: the constants, the pool where there is one, the prototype of the entry, and that of its `prepare` where
    /// weights can be packed; all are C functions in C++ too.
    pub fn header(&self) -> String {
        let guard = format!("ROOFLAB_{}_H", self.entry.to_uppercase());
        let mut text = format!("#ifndef {guard}\n#define {guard}\n#include <stddef.h>\n#include <stdint.h>\n");
        for (name, value) in &self.constants {
            let _ = writeln!(text, "#define {} {value}", name.to_uppercase());
        }
        if self.arguments.iter().any(|argument| argument.dtype == Dtype::Bf16) {
            text.push_str(BF16);
        }
        text.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
        if self.threads > 0 {
            let _ = writeln!(text, "#define ROOFLAB_THREADS {}\n{POOL}", self.threads);
        }
        let _ = writeln!(text, "void {}({});", self.entry, self.parameters(&self.call_arguments()));
        if self.packed().is_some() {
            let _ = writeln!(text, "void {}_prepare({});", self.entry, self.parameters(&self.prepare_arguments()));
        }
        text.push_str("#ifdef __cplusplus\n}\n#endif\n#endif\n");
        text
    }

    /// The symbol by which a candidate may pack the weights, where this problem has any.
    pub fn prepare_symbol(&self) -> Option<String> {
        self.packed().map(|_| format!("{}_prepare", self.entry))
    }

    /// The entry's prototype under another name, with a semicolon.
    pub fn prototype(&self, name: &str) -> String {
        format!("void {name}({});", self.parameters(&self.call_arguments()))
    }

    /// A call with the prototype's own parameters, without a semicolon.
    pub fn call(&self, name: &str) -> String {
        let arguments = self.arguments.iter().map(|argument| argument.name.as_str());
        let sizes = self.axes.iter().map(|axis| axis.name.as_str());
        format!("{name}({})", arguments.chain(sizes).collect::<Vec<_>>().join(", "))
    }

    /// The whole translation unit of a candidate: header, its text, and the two functions that the runner calls,
    /// `rooflab_entry` and `rooflab_prepare`, both `(void *const *buffers, const int64_t *sizes)`.
    ///
    /// The two are C functions in a C++ candidate too. A line `#include "problem.h"` in the candidate is blanked, since
    /// the header already stands before it.
    pub fn unit(&self, source: &Source) -> String {
        let mut text = format!("#line 1 \"problem.h\"\n{}", self.header());
        // Only a candidate that mentions `prepare` gets a reference to it: an unresolved weak symbol would otherwise
        // be one more import to explain.
        let prepare = format!("{}_prepare", self.entry);
        let prepares = self.packed().is_some() && mentions(&source.text, &prepare);
        if prepares {
            let _ = writeln!(text, "#pragma weak {prepare}");
        }
        let extension = source.language.extension();
        let _ = writeln!(text, "#line 1 \"candidate.{extension}\"\n{}", without_header(&source.text));
        self.push_entries(&mut text, source.language, prepares.then_some(prepare.as_str()));
        text
    }

    /// The translation unit that stands between the runner and a prebuilt library: the same two functions, calling the
    /// library's own. They are weak, so that it links without the library. `prepare` is the library's, where it has one.
    pub fn shim(&self, prepare: Option<&str>) -> String {
        let mut text = format!("#line 1 \"problem.h\"\n{}", self.header());
        for name in prepare.into_iter().chain([self.entry.as_str()]) {
            let _ = writeln!(text, "#pragma weak {name}");
        }
        self.push_entries(&mut text, Language::C, prepare);
        text
    }

    /// The two functions that the runner calls.
    fn push_entries(&self, text: &mut String, language: Language, prepare: Option<&str>) {
        text.push_str("#line 1 \"rooflab.c\"\n");
        let linkage = if language == Language::Cpp { "extern \"C\" " } else { "" };
        let _ = writeln!(
            text,
            "{linkage}__attribute__((visibility(\"default\"))) void rooflab_entry(void *const *b, const int64_t *s) {{\n    \
             (void)b, (void)s;\n    {}({});\n}}",
            self.entry,
            self.values(&self.call_arguments())
        );
        let _ = writeln!(
            text,
            "{linkage}__attribute__((visibility(\"default\"))) void rooflab_prepare(void *const *b, const int64_t *s) \
             {{\n    (void)b, (void)s;",
        );
        if let Some(prepare) = prepare {
            let _ = writeln!(text, "    if ({prepare}) {prepare}({});", self.values(&self.prepare_arguments()));
        }
        text.push_str("}\n");
        if self.threads > 0 {
            // In C++ the header has made it a C function, and names of variables are the same in both.
            text.push_str(PARALLEL);
        }
    }

    /// The oracle's translation unit: `oracle.c` once with `real` as double and once as float, exporting
    /// `rooflab_oracle_f64` and `rooflab_oracle_f32`. Compile it with
    /// `cc -O3 -march=native -fPIC -shared UNIT.c -lm` and without `-ffast-math`.
    pub fn oracle_unit(&self) -> String {
        // Before the constants: a macro named I or N must not meet the system's headers.
        let mut text = format!("#include <tgmath.h>\n{}", self.header());
        for (real, suffix) in [("double", "f64"), ("float", "f32")] {
            let _ = write!(
                text,
                "#define real {real}\n#define ORACLE(name) name##_{suffix}\n#define oracle_row oracle_row_{suffix}\n\
                 {}#line 1 \"oracle.c\"\n{}\n#line 1 \"rooflab.c\"\n{}#undef real\n#undef ORACLE\n#undef oracle_row\n",
                self.oracle_prototype(),
                self.oracle,
                self.oracle_export(suffix)
            );
        }
        text
    }

    /// Not inlined into the loop over rows, where an array of variable length would be freed at the loop's end alone.
    fn oracle_prototype(&self) -> String {
        let inputs: Vec<(usize, bool)> = self.inputs().into_iter().map(|i| (i, true)).collect();
        let parameters = self.parameters(&inputs);
        format!("static __attribute__((noinline)) void oracle_row({parameters}, int64_t row, real *out);\n")
    }

    /// The row's length follows the axes in `s`.
    fn oracle_export(&self, suffix: &str) -> String {
        let inputs = self.inputs().into_iter().enumerate();
        let inputs: Vec<String> =
            inputs.map(|(i, argument)| format!("(const {} *)b[{i}]", self.arguments[argument].dtype.c())).collect();
        let sizes: Vec<String> = (0..self.axes.len()).map(|i| format!("s[{i}]")).collect();
        format!(
            "void rooflab_oracle_{suffix}(void *const *b, const int64_t *s, const int64_t *rows, int64_t n, real *out) \
             {{\n    for (int64_t i = 0; i < n; i++)\n        oracle_row({}, {}, rows[i], out + i * s[{}]);\n}}\n",
            inputs.join(", "),
            sizes.join(", "),
            self.axes.len()
        )
    }

    pub(crate) fn packed(&self) -> Option<usize> {
        self.arguments.iter().position(|argument| argument.role == Role::Packed)
    }

    pub(crate) fn call_arguments(&self) -> Vec<(usize, bool)> {
        let read_only = |argument: &Argument| argument.role.is_input() || argument.role == Role::Packed;
        self.arguments.iter().enumerate().map(|(i, argument)| (i, read_only(argument))).collect()
    }

    /// The weights, then the packed buffer.
    pub(crate) fn prepare_arguments(&self) -> Vec<(usize, bool)> {
        let weights = (0..self.arguments.len()).filter(|i| self.arguments[*i].role == Role::Weight);
        weights.map(|i| (i, true)).chain(self.packed().map(|i| (i, false))).collect()
    }

    fn parameters(&self, arguments: &[(usize, bool)]) -> String {
        let buffers = arguments.iter().map(|(i, read_only)| {
            let argument = &self.arguments[*i];
            format!("{}{} *{}", constness(*read_only), argument.dtype.c(), argument.name)
        });
        let sizes = self.axes.iter().map(|axis| format!("int64_t {}", axis.name));
        buffers.chain(sizes).collect::<Vec<_>>().join(", ")
    }

    fn values(&self, arguments: &[(usize, bool)]) -> String {
        let buffers = arguments
            .iter()
            .map(|(i, read_only)| format!("({}{} *)b[{i}]", constness(*read_only), self.arguments[*i].dtype.c()));
        let sizes = (0..self.axes.len()).map(|i| format!("s[{i}]"));
        buffers.chain(sizes).collect::<Vec<_>>().join(", ")
    }
}

fn constness(read_only: bool) -> &'static str {
    if read_only { "const " } else { "" }
}

/// Whether `text` holds `name` as a whole identifier.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name)
}

/// The candidate's text with `#include "problem.h"` blanked; lines keep their numbers.
fn without_header(text: &str) -> String {
    let is_header = |line: &str| {
        let line: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        line == "#include\"problem.h\""
    };
    text.lines().map(|line| if is_header(line) { "" } else { line }).collect::<Vec<_>>().join("\n")
}
