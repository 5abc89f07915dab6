//! The problems' naive sources, and the C compiler that tests ask whether a text is C.
#![allow(dead_code, reason = "each test file uses a part")]

use search::proposers::embedded::Code;
use std::collections::BTreeMap;
use std::process::Command;

/// What the problems define, small.
pub fn constants() -> BTreeMap<String, i64> {
    let all = [("DIM", 32), ("HEADS_Q", 4), ("HEADS_KV", 2), ("COLS", 64), ("K", 48), ("N", 192)];
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A source as the edits see it.
pub fn code(text: &str, flags: &[String]) -> Code {
    Code::parse(text, flags, &constants()).expect("the source parses")
}

/// The constants as a header, with what `problem.h` includes.
pub fn header() -> String {
    let includes = "#include <stdint.h>\n#include <stddef.h>\n#include <math.h>\n".to_owned();
    constants().iter().fold(includes, |out, (name, value)| out + &format!("#define {name} {value}\n"))
}

/// Whether there is a C compiler; says that a test is skipped when not.
pub fn has_compiler(test: &str) -> bool {
    let found = Command::new("cc").arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        eprintln!("{test}: skipped, no cc");
    }
    found
}

/// Whether a text is C, or the compiler's words.
pub fn syntax(text: &str, flags: &[String]) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let file = folder.path().join("candidate.c");
    std::fs::write(&file, header() + text).map_err(|e| e.to_string())?;
    let out =
        Command::new("cc").args(["-fsyntax-only", "-w"]).args(flags).arg(&file).output().map_err(|e| e.to_string())?;
    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned()) }
}

/// Compiles a text with a `main` and runs it; what it prints.
pub fn output(text: &str, flags: &[String]) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (file, program) = (folder.path().join("candidate.c"), folder.path().join("candidate"));
    std::fs::write(&file, header() + text).map_err(|e| e.to_string())?;
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-march=native", "-w"]).args(flags).arg(&file).arg("-o").arg(&program).arg("-lm");
    let out = compile.output().map_err(|e| e.to_string())?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).into_owned());
    }
    let out = Command::new(&program).output().map_err(|e| e.to_string())?;
    if out.status.success() {
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
    } else {
        Err(out.status.to_string())
    }
}

/// Naive.
pub const ATTENTION: &str = r"#include <math.h>

void attention_prefill(const float *q, const float *k, const float *v, float *out, float *scratch, int64_t len)
{
    const float scale = 1.0f / sqrtf((float)DIM);
    for (int64_t h = 0; h < HEADS_Q; h++) {
        const int64_t g = h / (HEADS_Q / HEADS_KV);
        for (int64_t i = 0; i < len; i++) {
            for (int64_t j = 0; j <= i; j++) {
                float s = 0.0f;
                for (int64_t d = 0; d < DIM; d++)
                    s += q[(h * len + i) * DIM + d] * k[(g * len + j) * DIM + d];
                scratch[j] = s * scale;
            }
            float most = scratch[0];
            for (int64_t j = 1; j <= i; j++)
                most = fmaxf(most, scratch[j]);
            float sum = 0.0f;
            for (int64_t j = 0; j <= i; j++) {
                scratch[j] = expf(scratch[j] - most);
                sum += scratch[j];
            }
            for (int64_t d = 0; d < DIM; d++) {
                float acc = 0.0f;
                for (int64_t j = 0; j <= i; j++)
                    acc += scratch[j] * v[(g * len + j) * DIM + d];
                out[(h * len + i) * DIM + d] = acc / sum;
            }
        }
    }
}
";
/// Naive.
pub const MATMUL: &str = r"void matmul_small_m(const float *x, const float *w, const float *packed, float *y, int64_t m)
{
    (void)packed;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < N; j++) {
            float s = 0.0f;
            for (int64_t l = 0; l < K; l++)
                s += x[i * K + l] * w[l * N + j];
            y[i * N + j] = s;
        }
}
";
/// Naive.
pub const RMS_NORM: &str = r"#include <math.h>

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0.0f;
        for (int64_t j = 0; j < COLS; j++)
            sum += x[i * COLS + j] * x[i * COLS + j];
        const float inverse = 1.0f / sqrtf(sum / COLS + 1e-6f);
        for (int64_t j = 0; j < COLS; j++)
            out[i * COLS + j] = x[i * COLS + j] * inverse * weight[j];
        for (int64_t j = 0; j < COLS; j++) {
            const float g = gate[i * COLS + j];
            out[i * COLS + j] *= g / (1.0f + expf(-g));
        }
    }
}
";
