//! Problem folders as text: what loads, what is refused and where, and the C that comes out.

mod compiler;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use model::{Seconds, Source};
use problems::{BaselineCode, Oracle, Problem, ProblemError, Role, Tolerance};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn shipped(name: &str) -> Problem {
    Problem::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../problems").join(name)).unwrap()
}

/// A folder from the template with one text of problem.toml exchanged.
fn edited(dir: &Path, from: &str, to: &str) -> PathBuf {
    let folder = problems::create(dir, "sample").unwrap();
    let path = folder.join("problem.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    folder
}

#[test]
fn mistakes_are_shown_where_they_are() {
    // What is exchanged, what the message says, the text under the label.
    let check = |from: &str, to: &str, message: &str, label: &str| {
        let dir = tempfile::tempdir().unwrap();
        let Err(ProblemError::Malformed(error)) = Problem::load(&edited(dir.path(), from, to)) else {
            panic!("`{to}` must be refused as malformed");
        };
        assert!(error.message.contains(message), "{to}: {}", error.message);
        assert!(!error.help.is_empty(), "{to}");
        let span = error.span.map(|span| &error.file.inner()[span.offset()..span.offset() + span.len()]);
        assert_eq!(span.unwrap_or_default(), label, "{to}");
    };
    let output = "role = \"output\"\nshape = [\"rows\", \"cols\"]";
    check("hints =", "hint =", "unknown field `hint`", "hint");
    check("cols = 1024", "cols = 1024\nCols = 3", "`Cols` can't be used as a name", "3");
    check("cols = 1024", "cols = \"many\"", "invalid type: string", "\"many\"");
    check("cols = 1024", "cols = 1024\nrows = 3", "`rows` is declared twice", "\"rows\"");
    check("name = \"x\"", "name = \"cols\"", "`cols` is declared twice", "\"cols\"");
    check("range = [16, 2048]", "", "missing field `range`", "[[axis]]");
    check("range = [16, 2048]", "range = [16]", "not [low, high]", "[16]");
    check("range = [16, 2048]", "range = [0, 20]", "not [low, high]", "[0, 20]");
    check("range = [16, 2048]", "range = [16, 100000]", "would take 409600000 bytes", "\"rows\", \"cols\"");
    check("[\"rows\", \"cols\"]", "[\"rowz\", \"cols\"]", "`rowz` is neither a constant nor an axis", "\"rowz\"");
    check("[\"rows\", \"cols\"]", "[\"rows -\", \"cols\"]", "is not an expression", "\"rows -\"");
    check("[\"rows\", \"cols\"]", "[\"rows / 2\"]", "`rows / 2` is 0.5", "\"rows / 2\"");
    check("rows = 64", "row = 64", "`row` is not an axis", "64");
    check("[[workload]]\nrows = 64", "[[workload]]\nrows = 4000", "less work than the workload before", "[[workload]]");
    check("rows = [1,", "cols = [1,", "`cols` is not an axis", "[1, 2, 3, 17, 127]");
    check("dtype = \"f32\"", "dtype = \"fp8\"", "unknown variant `fp8`", "\"fp8\"");
    check("role = \"weight\"", "role = \"wait\"", "unknown variant `wait`", "\"wait\"");
    check(output, &output.replace("output", "scratch"), "the outputs can't be checked", "");
    check(
        ", scale = [0.5, 2.0]",
        ", scale = [2.0, 0.5]",
        "`scale` is not",
        "{ distribution = \"normal\", scale = [2.0, 0.5] }",
    );
    check("high = 1.5", "high = 0.5", "uniform needs", "{ distribution = \"uniform\", low = 0.5, high = 0.5 }");
    check(
        output,
        &format!("{output}\ndraw = {{ distribution = \"normal\" }}"),
        "not an input",
        "{ distribution = \"normal\" }",
    );
    check("file = \"oracle.c\"", "file = \"orakel.c\"", "can't read `orakel.c`", "\"orakel.c\"");
    check("file = \"oracle.c\"", "file = \"../oracle.c\"", "leads out of the folder", "\"../oracle.c\"");
    check("row_length = \"cols\"", "row_length = \"2 * cols\"", "are not the 65536 elements of `out`", "\"rows\"");
    check("flop = \"2 *", "flop = \"-2 *", "at rows=64", "\"-2 * rows * cols\"");
    check("counting = \"One", "counting = \"\" # ", "not stated", "\"\"");
    check("\"oracle-f32\"", "\"oracle-bf16\"", "needs an input in bf16", "\"oracle-bf16\"");
    check("factor = 16", "factor = 0.0", "must be above 0", "0.0");
    check("rule = \"oracle-f32\"", "rule = \"1e-3\"", "unknown variant `1e-3`", "\"1e-3\"");
    check("file = \"baselines/naive.c\"", "", "needs one place for its code", "[[baseline]]");
    check("entry = \"sample\"", "entry = \"rooflab_entry\"", "names in `rooflab_` are taken", "\"rooflab_entry\"");
    let entry = "entry = \"sample\"";
    check(entry, &format!("{entry}\nthreads = 0"), "a pool of 0 threads can't be", "0");
    check(entry, &format!("{entry}\nthreads = 33"), "a pool of 33 threads can't be", "33");
    check("[oracle]", "[oracle", "", "");
}

#[test]
fn a_malformed_file_is_shown_with_the_place_and_the_fix() {
    let dir = tempfile::tempdir().unwrap();
    let error = Problem::load(&edited(dir.path(), "rows = \"rows\"", "rows = \"rows * heads\"")).unwrap_err();
    let mut shown = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(100);
    handler.render_report(&mut shown, &error as &dyn Diagnostic).unwrap();
    insta::assert_snapshot!(shown, @r#"
    problem::toml

      × `heads` is neither a constant nor an axis; known: cols, rows
        ╭─[sample/problem.toml:57:8]
     56 │ file = "oracle.c"
     57 │ rows = "rows * heads"
        ·        ───────┬──────
        ·               ╰── here
     58 │ row_length = "cols"
        ╰────
      help: use + - * / ^, min(a, b), max(a, b), numbers, constants and axes
    "#);
}

#[test]
fn a_missing_folder_is_an_error_with_its_path() {
    let error = Problem::load(Path::new("no/such/problem")).unwrap_err();
    assert!(error.to_string().starts_with("no/such/problem/problem.toml: "), "{error}");
}

#[test]
fn shipped_problems_count_by_hand() {
    let check = |name: &str, workload: usize, bytes: &[usize], rows: usize, work: [f64; 3]| {
        let problem = shipped(name);
        let workload = &problem.workloads[workload];
        assert_eq!(problem.workload_bytes(workload), bytes, "{name}");
        assert_eq!(problem.rows(workload), rows, "{name}");
        let counted = problem.work(workload);
        assert_eq!([counted.flop.0, counted.bytes.0, counted.exp.0], work, "{name}");
        assert!(problem.baselines.len() == 2 && !problem.hints.is_empty());
        assert!(
            matches!(&problem.baselines[0].code, BaselineCode::Source(source) if source.text.contains(&problem.entry))
        );
    };
    // 16 heads of 128 x 129 / 2 scores; 512 FLOP and one exp each.
    let scores = 16.0 * 8256.0;
    let (q, kv) = (16 * 128 * 128 * 4, 8 * 128 * 128 * 4);
    check("attention-prefill", 0, &[q, kv, kv, q, 128 * 128 * 4], 2048, [scores * 512.0, 3_145_728.0, scores]);
    let row = 4096 * 4;
    let elements = 16.0 * 4096.0;
    check("rms-norm-silu", 0, &[16 * row, 16 * row, row, 16 * row], 16, [7.0 * elements, 802_816.0, elements]);
    let w = 1024 * 3072 * 4;
    check("matmul-small-m", 1, &[4 * 4096, w, w, 4 * 12288], 192, [25_165_824.0, 12_648_448.0, 0.0]);
}

#[test]
fn headers_and_units() {
    let matmul = shipped("matmul-small-m");
    insta::assert_snapshot!(matmul.header(), @r#"
    #ifndef ROOFLAB_MATMUL_SMALL_M_H
    #define ROOFLAB_MATMUL_SMALL_M_H
    #include <stddef.h>
    #include <stdint.h>
    #define K 1024
    #define N 3072
    #ifdef __cplusplus
    extern "C" {
    #endif
    void matmul_small_m(const float *x, const float *w, const float *packed, float *y, int64_t m);
    void matmul_small_m_prepare(const float *w, float *packed, int64_t m);
    #ifdef __cplusplus
    }
    #endif
    #endif
    "#);
    let candidate =
        "#include \"problem.h\"\nvoid matmul_small_m_prepare(const float *w, float *packed, int64_t m) {}\n";
    let unit = matmul.unit(&Source::c(candidate));
    let rest = unit.strip_prefix(&format!("#line 1 \"problem.h\"\n{}", matmul.header())).unwrap();
    insta::assert_snapshot!(rest, @r#"
    #pragma weak matmul_small_m_prepare
    #line 1 "candidate.c"

    void matmul_small_m_prepare(const float *w, float *packed, int64_t m) {}
    #line 1 "rooflab.c"
    __attribute__((visibility("default"))) void rooflab_entry(void *const *b, const int64_t *s) {
        (void)b, (void)s;
        matmul_small_m((const float *)b[0], (const float *)b[1], (const float *)b[2], (float *)b[3], s[0]);
    }
    __attribute__((visibility("default"))) void rooflab_prepare(void *const *b, const int64_t *s) {
        (void)b, (void)s;
        if (matmul_small_m_prepare) matmul_small_m_prepare((const float *)b[1], (float *)b[2], s[0]);
    }
    "#);
    let plain = matmul.unit(&Source::c("void matmul_small_m_prepared(void);"));
    assert!(!plain.contains("#pragma weak"), "only what is there is called: {plain}");
    let shim = matmul.shim(Some("matmul_small_m_prepare"));
    assert_eq!(unit.split_once("rooflab.c").unwrap().1, shim.split_once("rooflab.c").unwrap().1);
    for name in ["matmul_small_m", "matmul_small_m_prepare"] {
        assert!(shim.contains(&format!("#pragma weak {name}\n")), "it links without the library: {shim}");
    }
    assert!(!matmul.shim(None).contains("if (matmul_small_m_prepare)"), "only what is there is called");
    let attention = shipped("attention-prefill");
    assert!(attention.header().contains(
        "void attention_prefill(const float *q, const float *k, const float *v, float *out, float *scratch, int64_t len);"
    ));
    assert!(!attention.header().contains("prepare"));
}

#[test]
fn a_pool_is_declared_and_handed_over() {
    let problem = shipped("rms-norm-silu-pool");
    assert_eq!((problem.threads, shipped("rms-norm-silu").threads), (1, 0));
    insta::assert_snapshot!(problem.header(), @r#"
    #ifndef ROOFLAB_RMS_NORM_SILU_H
    #define ROOFLAB_RMS_NORM_SILU_H
    #include <stddef.h>
    #include <stdint.h>
    #define COLS 4096
    #ifdef __cplusplus
    extern "C" {
    #endif
    #define ROOFLAB_THREADS 1
    /* Calls task(context, i) for every i from 0 to count - 1, on this thread and the pool's, and returns when all of these
       calls have returned. In a task it is an ordinary loop. */
    typedef void rooflab_task(void *context, int64_t i);
    void rooflab_parallel(int64_t count, rooflab_task *task, void *context);
    void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows);
    #ifdef __cplusplus
    }
    #endif
    #endif
    "#);
    let source = Source::c("");
    let unit = problem.unit(&source);
    insta::assert_snapshot!(unit.split_once("void rooflab_prepare").unwrap().1, @r#"
    (void *const *b, const int64_t *s) {
        (void)b, (void)s;
    }
    __attribute__((visibility("default"))) void (*rooflab_pool)(int64_t, rooflab_task *, void *);
    void rooflab_parallel(int64_t count, rooflab_task *task, void *context) {
        if (rooflab_pool) {
            rooflab_pool(count, task, context);
            return;
        }
        for (int64_t i = 0; i < count; i++) task(context, i);
    }
    "#);
    for without in [shipped("rms-norm-silu").unit(&source), problem.oracle_unit()] {
        assert!(!without.contains("rooflab_pool"), "{without}");
    }
}

#[test]
fn sizes_follow_the_declared_order() {
    let dir = tempfile::tempdir().unwrap();
    let two_axes = "name = \"rows\"\nrange = [16, 2048]\n\n[[axis]]\nname = \"batch\"\nrange = [1, 4]";
    let folder = edited(dir.path(), "name = \"rows\"\nrange = [16, 2048]", two_axes);
    let path = folder.join("problem.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("rows = 64", "rows = 64\nbatch = 2").replace("rows = 1000", "batch = 3\nrows = 1000"),
    )
    .unwrap();
    let problem = Problem::load(&folder).unwrap();
    assert_eq!(problem.workloads[1].name, "rows=1000,batch=3");
    assert_eq!(problem.sizes(&problem.workloads[1]), [1000, 3]);
    assert_eq!(problem.edges()[0].name, "rows=1,batch=2");
    assert!(problem.header().contains("int64_t rows, int64_t batch);"));
}

#[test]
fn held_out_shapes_are_fresh_and_inside() {
    for name in ["attention-prefill", "rms-norm-silu", "matmul-small-m"] {
        let problem = shipped(name);
        let drawn = problem.held_out(20, 5);
        assert_eq!(drawn.len(), 20);
        assert_eq!(drawn, problem.held_out(20, 5));
        assert_ne!(drawn, problem.held_out(20, 6));
        let names: BTreeSet<&str> = drawn.iter().map(|workload| workload.name.as_str()).collect();
        assert_eq!(names.len(), 20, "no shape twice");
        for workload in &drawn {
            assert!(!problem.workloads.contains(workload), "{} is declared", workload.name);
            let value = workload.axes[&problem.axes[0].name];
            assert!((problem.axes[0].range[0]..=problem.axes[0].range[1]).contains(&value));
        }
    }
    // 1..=32 holds 28 shapes that are not declared.
    assert_eq!(shipped("matmul-small-m").held_out(100, 1).len(), 28);
}

#[test]
fn the_digest_covers_every_file() {
    let dir = tempfile::tempdir().unwrap();
    let folder = problems::create(dir.path(), "sample").unwrap();
    let mut seen = BTreeSet::from([Problem::load(&folder).unwrap().digest]);
    for file in ["problem.toml", "oracle.c", "hints.md", "baselines/naive.c"] {
        let path = folder.join(file);
        let comment = if path.extension().is_some_and(|extension| extension == "c") { "/* */" } else { "#" };
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + comment).unwrap();
        assert!(seen.insert(Problem::load(&folder).unwrap().digest), "{file}");
    }
    std::fs::write(folder.join("notes.txt"), "").unwrap();
    assert!(seen.contains(&Problem::load(&folder).unwrap().digest), "other files don't matter");
}

#[test]
fn the_template_says_what_it_shows() {
    let dir = tempfile::tempdir().unwrap();
    let problem = Problem::load(&problems::create(dir.path(), "my-op").unwrap()).unwrap();
    assert_eq!((problem.name.as_str(), problem.entry.as_str()), ("my-op", "my_op"));
    assert_eq!(problem.budget.search, Seconds(120.0));
    let roles: Vec<Role> = problem.arguments.iter().map(|argument| argument.role).collect();
    assert_eq!(roles, [Role::Activation, Role::Activation, Role::Weight, Role::Output]);
    let check =
        |name: &str| assert!(matches!(problems::create(dir.path(), name), Err(ProblemError::Name(_))), "{name}");
    check("");
    check("Upper");
    check("../out");
    check("exp");
    check("a b");
}

#[test]
fn trivial_problems_are_refused() {
    if !compiler::is_there() {
        return;
    }
    // An oracle's value for element j of a row, and the answer that it lets through; none for a sound one.
    let check = |value: &str, expected: Option<&str>| {
        let dir = tempfile::tempdir().unwrap();
        let folder = problems::create(dir.path(), "sample").unwrap();
        let path = folder.join("oracle.c");
        let text = std::fs::read_to_string(&path).unwrap();
        let body = "(real)residual[row * COLS + j] + (real)weight[j] * (real)x[row * COLS + j]";
        assert!(text.contains(body));
        std::fs::write(&path, text.replace(body, value)).unwrap();
        let problem = Problem::load(&folder).unwrap();
        let oracle = Oracle::open(&problem, &compiler::library(dir.path(), "oracle", &problem.oracle_unit())).unwrap();
        let derived = Tolerance::derive(&problem, &oracle, &problem.workloads[0], 3);
        let refused = derived.err().map(|error| error.to_string());
        assert_eq!(refused.is_some(), expected.is_some(), "{value}: {refused:?}");
        assert!(refused.unwrap_or_default().contains(expected.unwrap_or_default()), "{value}: {expected:?}");
    };
    check("(real)weight[j] * (real)x[row * COLS + j]", None);
    check("0 * (real)x[row]", Some("zero passes"));
    check("(real)3.25", Some("one constant, the mean, passes"));
    check("(real)x[row * COLS]", Some("each row's own mean passes"));
    check("(real)residual[row * COLS + j]", Some("a copy of `residual` passes"));
    check("(real)(j + row)", Some("the answer to other inputs passes"));
    check("x[row * COLS + j] > 0 ? 1 + j : -j", Some("the answer to inputs rounded to 11 bits passes"));
    check("(real)x[row * COLS + j] / 0", Some("of its sampled rows is"));
}
