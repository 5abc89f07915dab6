//! A folder as SOL-ExecBench and FlashInfer-Bench have it: made here, judged, and its traces read back.

use crate::rig::{self, Ended, rooflab, seconds};
use model::{Judgement, Rule, Stage, Verdict};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const LIMIT: u64 = 180;

const REFERENCE: &str = "\
import numpy as np

def run(x, bias, scale):
    z = x * np.float32(scale) + bias
    z = z - z.max(axis=1, keepdims=True)
    e = np.exp(z)
    return e / e.sum(axis=1, keepdims=True)
";

const WRITES: &str = "\
import numpy as np

def run(x, bias, scale, y):
    np.multiply(x, np.float32(scale), out=y)
    y += bias
    y -= y.max(axis=1, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(axis=1, keepdims=True)
";

const RETURNS_DICT: &str = "\
import numpy as np

def run(x, bias, scale):
    e = np.exp(x * np.float32(scale) + bias)
    return {'y': e / e.sum(axis=1, keepdims=True)}
";

const C: &str = "\
#include <math.h>

void softmax(const float *x, const float *bias, double scale, float *y, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0, most = -INFINITY;
        for (int j = 0; j < 256; j++) {
            y[i * 256 + j] = x[i * 256 + j] * (float)scale + bias[j];
            most = fmaxf(most, y[i * 256 + j]);
        }
        for (int j = 0; j < 256; j++)
            sum += y[i * 256 + j] = expf(y[i * 256 + j] - most);
        for (int j = 0; j < 256; j++)
            y[i * 256 + j] /= sum;
    }
}
";

const CPP: &str = "\
#include <math.h>

template <int COLS> static void row(const float *x, const float *bias, float scale, float *y)
{
    float sum = 0;
    for (int j = 0; j < COLS; j++)
        sum += y[j] = expf(x[j] * scale + bias[j]);
    for (int j = 0; j < COLS; j++)
        y[j] /= sum;
}

void softmax(const float *x, const float *bias, double scale, float *y, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        row<256>(x + i * 256, bias, scale, y + i * 256);
}
";

/// A folder with its solutions.
struct Folder(tempfile::TempDir);

const INPUTS: &str = r#"{
    "x": {"shape": ["rows", "cols"], "dtype": "float32"},
    "bias": {"shape": ["cols"], "dtype": "float32"},
    "scale": {"shape": null, "dtype": "float32"}
}"#;

impl Folder {
    fn new(bound: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let definition = json!({
            "name": "biased_softmax_c256",
            "op_type": "softmax",
            "axes": {"rows": {"type": "var"}, "cols": {"type": "const", "value": 256}},
            "inputs": "INPUTS",
            "outputs": {"y": {"shape": ["rows", "cols"], "dtype": "float32"}},
            "reference": REFERENCE
        });
        // As text: the order of the inputs is that of the arguments, and a JSON value may have lost it.
        let text = definition.to_string().replace("\"INPUTS\"", INPUTS);
        std::fs::write(folder.path().join("definition.json"), text).unwrap();
        let folder = Self(folder);
        folder.workloads(&[64], bound);
        folder
    }

    /// One workload for each number of rows.
    fn workloads(&self, rows: &[i64], bound: &Value) {
        let workload = |rows: &i64| {
            let inputs = json!({
                "x": {"type": "random"},
                "bias": {"type": "random"},
                "scale": {"type": "scalar", "value": 0.5}
            });
            json!({"uuid": format!("w{rows}"), "axes": {"rows": rows}, "inputs": inputs, "tolerance": bound})
        };
        let lines: Vec<String> = rows.iter().map(|rows| workload(rows).to_string()).collect();
        std::fs::write(self.path().join("workload.jsonl"), lines.join("\n") + "\n").unwrap();
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn solution(&self, language: &str, entry: &str, text: &str, writes: bool) -> PathBuf {
        let main = entry.split("::").next().unwrap();
        let solution = json!({
            "name": "mine",
            "definition": "biased_softmax_c256",
            "author": "tests",
            "spec": {
                "language": language,
                "target_hardware": ["LOCAL"],
                "entry_point": entry,
                "destination_passing_style": writes
            },
            "sources": [{"path": main, "content": text}]
        });
        let path = self.path().join("solution.json");
        std::fs::write(&path, solution.to_string()).unwrap();
        path
    }

    fn judge(&self, candidate: &Path) -> Ended {
        let mut command = rooflab(["judge", "--json", "--cap", "1s", "--traces"]);
        command.arg(self.path().join("traces.jsonl")).arg(self.path()).arg(candidate);
        rig::run(&mut command, seconds(LIMIT))
    }

    fn traces(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path().join("traces.jsonl")).expect("traces were written");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn trace(&self) -> Value {
        self.traces().pop().expect("a trace")
    }
}

fn tight() -> Value {
    json!({"max_atol": 1e-6, "max_rtol": 1e-4})
}

fn judgement(ended: &Ended) -> Judgement {
    ended.expect(0);
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}\n{ended}"))
}

#[test]
fn honest_solutions_pass_and_leave_traces() {
    let _alone = rig::alone();
    let check = |language: &str, entry: &str, text: &str, writes: bool| {
        let folder = Folder::new(&tight());
        let ended = folder.judge(&folder.solution(language, entry, text, writes));
        let judgement = judgement(&ended);
        assert!(judgement.verdict.is_measured(), "{language} {entry}: {}", judgement.verdict);
        let trace = folder.trace();
        assert_eq!(trace["definition"], "biased_softmax_c256", "{trace}");
        assert_eq!(trace["workload"]["uuid"], "w64", "{trace}");
        let evaluation = &trace["evaluation"];
        assert_eq!(evaluation["status"], "PASSED", "{trace}");
        for (part, field) in
            [("performance", "latency_ms"), ("performance", "reference_latency_ms"), ("performance", "speedup_factor")]
        {
            assert!(evaluation[part][field].as_f64().is_some_and(|value| value > 0.0), "{part} {field}: {trace}");
        }
        assert!(evaluation["correctness"]["max_absolute_error"].is_number(), "{trace}");
        assert!(evaluation["environment"]["libs"]["numpy"].is_string(), "{trace}");
    };
    check("python", "main.py::run", WRITES, true);
    check("python", "main.py::run", RETURNS_DICT, false);
    check("cpp", "k.c::softmax", C, true);
    check("cpp", "k.cpp::softmax", CPP, true);
}

#[test]
fn a_bare_file_will_do() {
    let _alone = rig::alone();
    let folder = Folder::new(&tight());
    let file = folder.path().join("bare.py");
    std::fs::write(&file, WRITES).unwrap();
    assert!(judgement(&folder.judge(&file)).verdict.is_measured());
}

#[test]
fn dishonest_solutions_have_a_verdict_and_a_status() {
    let _alone = rig::alone();
    let check = |text: &str, is: &dyn Fn(&Verdict) -> bool, status: &str| {
        let folder = Folder::new(&tight());
        let judgement = judgement(&folder.judge(&folder.solution("python", "main.py::run", text, false)));
        assert!(is(&judgement.verdict), "{text}: {}", judgement.verdict);
        let trace = folder.trace();
        assert_eq!(trace["evaluation"]["status"], status, "{text}: {trace}");
    };
    let refused =
        |rule: Rule| move |verdict: &Verdict| matches!(verdict, Verdict::Refused { rule: r, .. } if *r == rule);
    let failed =
        |stage: Stage| move |verdict: &Verdict| matches!(verdict, Verdict::Failed { stage: s, .. } if *s == stage);
    check("def run(x, bias, scale):\n    pass\n", &refused(Rule::UnwrittenOutput), "RUNTIME_ERROR");
    check("def run(x, bias, scale):\n    return x\n", &failed(Stage::Invalid), "INCORRECT_NUMERICAL");
    check("def run(x, bias, scale):\n    return x[1:]\n", &failed(Stage::Invalid), "INCORRECT_SHAPE");
    check("def run(x, bias, scale):\n    return x.astype('f8')\n", &failed(Stage::Invalid), "INCORRECT_DTYPE");
    check("def run(x, bias, scale):\n    x += 1\n", &refused(Rule::WroteInput), "RUNTIME_ERROR");
    check("def run(x, bias, scale):\n    open('/etc/passwd')\n", &refused(Rule::SystemCall), "RUNTIME_ERROR");
    check("def run(x, bias, scale)\n", &failed(Stage::Load), "COMPILE_ERROR");
}

#[test]
fn every_workload_has_its_trace() {
    let _alone = rig::alone();
    let folder = Folder::new(&tight());
    folder.workloads(&[64, 32], &tight());
    let wrong_on_64 = RETURNS_DICT.replace("return {", "return x if len(x) == 64 else {");
    let judgement = judgement(&folder.judge(&folder.solution("python", "main.py::run", &wrong_on_64, false)));
    assert!(matches!(judgement.verdict, Verdict::Failed { stage: Stage::Invalid, .. }), "{}", judgement.verdict);
    let traces = folder.traces();
    let said: Vec<_> =
        traces.iter().map(|t| (t["workload"]["uuid"].as_str(), t["evaluation"]["status"].as_str())).collect();
    assert_eq!(said, [(Some("w64"), Some("INCORRECT_NUMERICAL")), (Some("w32"), Some("PASSED"))]);
}

#[test]
fn a_gpu_solution_is_no_failure_of_the_candidate() {
    let folder = Folder::new(&tight());
    let ended = folder.judge(&folder.solution("cuda", "k.cu::run", "__global__ void k();", true));
    ended.expect(2);
    assert!(super::said(&ended).contains("needs a GPU"), "{ended}");
}

#[test]
fn a_tolerance_that_judges_nothing_is_refused() {
    let _alone = rig::alone();
    // A softmax over 256 columns is below 0.1 nearly everywhere: zeros would pass.
    let folder = Folder::new(&json!({"max_atol": 0.1, "max_rtol": 0.1, "required_matched_ratio": 0.95}));
    let ended = folder.judge(&folder.solution("python", "main.py::run", WRITES, true));
    ended.expect(4);
    assert!(super::said(&ended).contains("zeros would pass"), "{ended}");
}
