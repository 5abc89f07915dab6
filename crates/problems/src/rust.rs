//! Rust texts: a candidate's crate root, and the two functions that the runner calls.
//!
//! Must not call a compiler. The crate has no standard library: a candidate can make no system call, so whatever of
//! `std` needs one would not work. What `std` shares with `core` is there under both names, and the float functions
//! that `core` lacks come from a trait over the machine's libm.

use crate::problem::Problem;
use crate::unit::mentions;
use model::Source;
use std::fmt::Write;

/// Names for `std` paths, libm by method call, and what a panic does.
const PRELUDE: &str = include_str!("rust-prelude.txt");
/// A panic is a trap: nobody could read its message.
const PANIC: &str = "#[panic_handler]\nfn rooflab_panic(_: &core::panic::PanicInfo<'_>) -> ! { rooflab_trap() }\n";

impl Problem {
    /// The whole crate of a Rust candidate: its text, the problem's constants, the prelude, and `rooflab_entry` and
    /// `rooflab_prepare` with the signatures that a C candidate's have. Lines of the candidate keep their numbers.
    pub fn rust_unit(&self, source: &Source) -> String {
        let mut text = format!("#![no_std] #![allow(warnings)] {}\n", source.text);
        text.push_str("mod rooflab_problem {\n");
        for (name, value) in &self.constants {
            let _ = writeln!(text, "    pub const {}: i64 = {value};", name.to_uppercase());
        }
        // By glob, so that a candidate may define the same names itself.
        text.push_str("}\nuse rooflab_problem::*;\n");
        text.push_str(PRELUDE);
        if !mentions(&source.text, "panic_handler") {
            text.push_str(PANIC);
        }
        let call = format!("{}({})", self.entry, self.rust_values(&self.call_arguments()));
        text.push_str(&exported("rooflab_entry", &call));
        let prepare = format!("{}_prepare", self.entry);
        let call = if self.packed().is_some() && mentions(&source.text, &prepare) {
            format!("{prepare}({})", self.rust_values(&self.prepare_arguments()))
        } else {
            String::new()
        };
        text.push_str(&exported("rooflab_prepare", &call));
        text
    }

    /// The parameters of a Rust candidate's function, for a twin that wraps it.
    pub fn rust_parameters(&self) -> String {
        let buffers = self.call_arguments().into_iter().map(|(i, read_only)| {
            let argument = &self.arguments[i];
            format!("{}: {} {}", argument.name, pointer(read_only), argument.dtype.rust())
        });
        let sizes = self.axes.iter().map(|axis| format!("{}: i64", axis.name));
        buffers.chain(sizes).collect::<Vec<_>>().join(", ")
    }

    fn rust_values(&self, arguments: &[(usize, bool)]) -> String {
        let buffers = arguments.iter().map(|(i, read_only)| {
            format!("*b.add({i}) as {} {}", pointer(*read_only), self.arguments[*i].dtype.rust())
        });
        let sizes = (0..self.axes.len()).map(|i| format!("*s.add({i})"));
        buffers.chain(sizes).collect::<Vec<_>>().join(", ")
    }
}

fn exported(name: &str, call: &str) -> String {
    format!(
        "#[no_mangle]\npub unsafe extern \"C\" fn {name}(b: *const *mut u8, s: *const i64) {{ unsafe {{ {call}; }} }}\n"
    )
}

fn pointer(read_only: bool) -> &'static str {
    if read_only { "*const" } else { "*mut" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Language;
    use std::path::Path;

    fn unit(problem: &str, text: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems").join(problem);
        let problem = Problem::load(&folder).unwrap();
        problem.rust_unit(&Source { language: Language::Rust, text: text.to_owned(), flags: Vec::new() })
    }

    #[test]
    fn the_shim_passes_typed_pointers_and_sizes() {
        let unit = unit("rms-norm-silu", "//! Mine.\nfn f() {}");
        assert!(unit.starts_with("#![no_std] #![allow(warnings)] //! Mine.\nfn f() {}\n"), "{unit}");
        assert!(unit.contains("pub const COLS: i64 = 4096;"));
        let call = "rms_norm_silu(*b.add(0) as *const f32, *b.add(1) as *const f32, *b.add(2) as *const f32, \
                    *b.add(3) as *mut f32, *s.add(0));";
        assert!(unit.contains(call), "{unit}");
    }

    #[test]
    fn prepare_is_called_where_it_is_defined() {
        let check = |text: &str, expected: bool| {
            assert_eq!(unit("matmul-small-m", text).contains("matmul_small_m_prepare(*b.add("), expected, "{text}");
        };
        check("fn matmul_small_m() {}", false);
        check("fn matmul_small_m() {} fn matmul_small_m_prepare() {}", true);
    }

    #[test]
    fn a_candidate_may_bring_its_own_panic_handler() {
        assert!(unit("rms-norm-silu", "fn f() {}").contains("rooflab_panic"));
        assert!(!unit("rms-norm-silu", "#[panic_handler] fn p() {}").contains("rooflab_panic"));
    }
}
