//! The shipped problems' tolerances against real code: honest f32 in any order passes, fewer bits fail.

mod compiler;

use libloading::Library;
use model::{Source, Workload};
use problems::{Check, Family, Oracle, Problem, Tolerance, check_rows};
use std::ffi::c_void;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems").join(name)
}

type Entry = unsafe extern "C" fn(*const *mut c_void, *const i64);

/// A problem with its oracle, a workload small enough for scalar code, and its tolerance.
struct Bench {
    problem: Problem,
    oracle: Oracle,
    workload: Workload,
    tolerance: Tolerance,
    family: Family,
    dir: tempfile::TempDir,
}

impl Bench {
    fn new(folder: &Path, workload: usize) -> Self {
        let problem = Problem::load(folder).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)));
        let dir = tempfile::tempdir().unwrap();
        let oracle = Oracle::open(&problem, &compiler::library(dir.path(), "oracle", &problem.oracle_unit())).unwrap();
        let workload = problem.workloads[workload].clone();
        let tolerance = Tolerance::derive(&problem, &oracle, &workload, 1).unwrap_or_else(|e| panic!("{e}"));
        Self { problem, oracle, workload, tolerance, family: Family::Declared, dir }
    }

    /// The same on a family of inputs.
    fn turn_to(&mut self, family: Family) {
        let at = (&self.workload, family);
        self.tolerance = Tolerance::derive_as(&self.problem, &self.oracle, at, 1).unwrap_or_else(|e| panic!("{e}"));
        self.family = family;
    }

    /// Runs a candidate on fresh inputs and checks every row.
    fn check(&self, name: &str, text: &str, key: u64) -> Check {
        let path = compiler::library(self.dir.path(), name, &self.problem.unit(&Source::c(text)));
        let bytes = self.problem.workload_bytes(&self.workload);
        let mut buffers: Vec<Vec<u64>> = bytes.iter().map(|size| vec![0; size.div_ceil(8)]).collect();
        for argument in self.problem.inputs() {
            let mut data = vec![0; bytes[argument]];
            self.problem.draw_as(self.family, (argument, &self.workload), key, &mut data);
            for (word, chunk) in buffers[argument].iter_mut().zip(data.chunks(8)) {
                let mut eight = [0; 8];
                eight[..chunk.len()].copy_from_slice(chunk);
                *word = u64::from_ne_bytes(eight);
            }
        }
        let pointers: Vec<*mut c_void> = buffers.iter_mut().map(|buffer| buffer.as_mut_ptr().cast()).collect();
        let sizes = self.problem.sizes(&self.workload);
        // SAFETY: our own test code, called with the buffers that it declares.
        unsafe {
            let library = Library::new(&path).unwrap();
            library.get::<Entry>(b"rooflab_prepare\0").unwrap()(pointers.as_ptr(), sizes.as_ptr());
            library.get::<Entry>(b"rooflab_entry\0").unwrap()(pointers.as_ptr(), sizes.as_ptr());
        }
        let slice = |argument: usize| {
            // SAFETY: the vector is at least that long, and any bytes are u8.
            unsafe { std::slice::from_raw_parts(buffers[argument].as_ptr().cast::<u8>(), bytes[argument]) }
        };
        let inputs: Vec<&[u8]> = self.problem.inputs().into_iter().map(slice).collect();
        let rows: Vec<i64> = (0..self.problem.rows(&self.workload) as i64).collect();
        let mut want = vec![0.0; rows.len() * self.tolerance.row_length];
        self.oracle.rows_f64(&self.workload, &inputs, &rows, &mut want);
        let output = slice(self.problem.output());
        assert_eq!(problems::scan(output, 0xffff_ffff), None);
        check_rows(&self.tolerance, &want, output, &rows)
    }
}

/// A candidate for `problem`. One in bf16 is the code of the same in f32, with elements of its own.
fn variant(problem: &str, definitions: &str) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/variants");
    let text = |name: &str| std::fs::read_to_string(here.join(format!("{name}.c"))).unwrap();
    let (elements, code) = match problem.strip_suffix("-bf16") {
        Some(code) => (text("bf16"), code),
        None => (String::new(), problem),
    };
    format!("{definitions}\n{elements}\n{}\n{}", text("rounding"), text(code))
}

/// The variants of `problem`: name, definitions, whether it has to pass.
fn check(problem: &str, workload: usize, variants: &[(&str, &str, bool)]) {
    if !compiler::is_there() {
        return;
    }
    let bench = Bench::new(&folder(problem), workload);
    println!(
        "{problem} {}: element {:.2e}, row {:.2e}",
        bench.workload.name, bench.tolerance.element, bench.tolerance.row
    );
    let naive = std::fs::read_to_string(folder(problem).join("baselines/naive.c")).unwrap();
    let mut wrong = Vec::new();
    for (name, definitions, passes) in variants {
        let candidate = match *name {
            "naive" => naive.clone(),
            _ => variant(problem, definitions),
        };
        let worst = [2, 3, 4].map(|key| bench.check(name, &candidate, key)).map(|check| {
            assert_eq!(check.failure.is_none(), check.worst <= 1.0, "{name}");
            check.worst
        });
        println!("  {name:20} worst share {:?}", worst.map(|x| (x * 1000.0).round() / 1000.0));
        // Fewer bits may pass on one draw; a verdict rests on many.
        if worst.iter().all(|share| *share <= 1.0) != *passes {
            wrong.push((name, worst));
        }
    }
    assert!(wrong.is_empty(), "{problem}: {wrong:?}");
}

/// Honest variants pass on every family that the problem names.
fn check_families(problem: &str, workload: usize, variants: &[(&str, &str)]) {
    if !compiler::is_there() {
        return;
    }
    let mut bench = Bench::new(&folder(problem), workload);
    let mut wrong = Vec::new();
    for family in bench.problem.numerics.families.clone() {
        bench.turn_to(family);
        for (name, definitions) in variants {
            let candidate = variant(problem, definitions);
            // A library is loaded once a path.
            let worst = [2, 3].map(|key| bench.check(&format!("{name}-{family}"), &candidate, key).worst);
            println!("  {family:14} {name:12} worst share {:?}", worst.map(|x| (x * 1000.0).round() / 1000.0));
            if worst.iter().any(|share| *share > 1.0) {
                wrong.push((family, *name, worst));
            }
        }
    }
    assert!(wrong.is_empty(), "{problem}: {wrong:?}");
}

#[test]
fn honest_code_passes_on_every_family() {
    check_families("attention-prefill", 0, &[("blocked", ""), ("split", "#define SPLIT")]);
    check_families("rms-norm-silu", 0, &[("fused", ""), ("serial", "#define PARTS 1")]);
    check_families("matmul-small-m", 0, &[("parts", ""), ("serial", "#define PARTS 1"), ("split", "#define SPLIT")]);
}

#[test]
fn attention() {
    let variants = [
        ("naive", "", true),
        ("blocked", "", true),
        ("polynomial", "#define EXP polynomial_exp", true),
        ("split", "#define SPLIT", true),
        ("crude", "#define EXP crude_exp", false),
        ("half", "#define DROPPED 13", false),
        ("bf16", "#define DROPPED 16", false),
        ("half-weights", "#define P_DROPPED 13", false),
        ("sparse", "#define SKIP 1e-3f", false),
    ];
    check("attention-prefill", 1, &variants);
}

#[test]
fn attention_in_bf16() {
    let variants = [
        ("naive", "", true),
        ("f32-weights", "#define P_DROPPED 0", true),
        ("bf16-weights", "", true),
        ("polynomial", "#define EXP polynomial_exp", true),
        ("bf16-scores", "#define S_DROPPED 16", true),
        ("fp8-weights", "#define P_DROPPED 20", false),
        ("fp8", "#define DROPPED 20", false),
        ("sparse", "#define SKIP 1e-2f", false),
    ];
    check("attention-prefill-bf16", 1, &variants);
    check_families("attention-prefill-bf16", 0, &[("bf16-weights", ""), ("polynomial", "#define EXP polynomial_exp")]);
}

#[test]
fn rms_norm() {
    let variants = [
        ("naive", "", true),
        ("fused", "", true),
        ("serial", "#define PARTS 1", true),
        ("polynomial", "#define EXP polynomial_exp", true),
        ("crude", "#define EXP crude_exp", false),
        ("half", "#define DROPPED 13", false),
        ("bf16", "#define DROPPED 16", false),
        ("no-norm", "#define NO_NORM", false),
    ];
    check("rms-norm-silu", 0, &variants);
}

#[test]
fn matmul() {
    let variants = [
        ("naive", "", true),
        ("parts", "", true),
        ("serial", "#define PARTS 1", true),
        ("split", "#define SPLIT", true),
        ("half", "#define DROPPED 13", false),
        ("bf16", "#define DROPPED 16", false),
    ];
    check("matmul-small-m", 1, &variants);
}

#[test]
fn the_template_runs() {
    if !compiler::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let made = problems::create(dir.path(), "my-problem").unwrap();
    let bench = Bench::new(&made, 0);
    let naive = std::fs::read_to_string(made.join("baselines/naive.c")).unwrap();
    assert_eq!(bench.problem.entry, "my_problem");
    assert_eq!(bench.check("naive", &naive, 2).failure, None);
    assert!(bench.check("wrong", &naive.replace("+ weight", "- weight"), 2).failure.is_some());
    assert!(problems::create(dir.path(), "my-problem").is_err(), "never overwrites");
    assert!(problems::create(dir.path(), "../up").is_err());
}
