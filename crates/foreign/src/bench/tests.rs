//! The reader, on small folders of our own.

use super::solution::style_of;
use super::*;
use serde_json::json;

fn definition() -> Value {
    json!({
        "name": "scale_d8",
        "axes": {
            "rows": {"type": "var"},
            "cols": {"type": "const", "value": 8},
            "half": {"type": "expr", "expression": "cols // 2"}
        },
        "inputs": {
            "x": {"shape": ["rows", "cols"], "dtype": "float32"},
            "a": {"shape": ["half"], "dtype": "bfloat16"},
            "eps": {"shape": null, "dtype": "float32"}
        },
        "outputs": {"y": {"shape": ["rows", "cols"], "dtype": "float32"}},
        "reference": "def run(x, a, eps):\n    return x\n"
    })
}

fn workload() -> Value {
    json!({
        "uuid": "u1",
        "axes": {"rows": 3},
        "inputs": {"x": {"type": "random"}, "a": {"type": "random"}, "eps": {"type": "scalar", "value": 1e-6}}
    })
}

fn solution(language: &str, entry: &str) -> Value {
    json!({
        "name": "mine",
        "definition": "scale_d8",
        "author": "me",
        "spec": {"language": language, "target_hardware": ["LOCAL"], "entry_point": entry},
        "sources": [{"path": "main.py", "content": "def run(x, a, eps, y): pass"}, {"path": "k.c", "content": "void f(void);"}]
    })
}

fn read_back(definition: &Value, workload: &Value, solution: &Value) -> Result<Task, String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("definition.json", definition.to_string());
    write("workload.jsonl", format!("{workload}\n\n"));
    write("s.json", solution.to_string());
    task(folder.path(), &folder.path().join("s.json"), None).map_err(|error| format!("{error}; {}", error.help()))
}

#[test]
fn inputs_keep_the_order_of_the_definition() {
    let read: Ordered<u8> = serde_json::from_str(r#"{"x": 1, "a": 2, "eps": 3}"#).unwrap();
    let names: Vec<&str> = read.0.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x", "a", "eps"]);
}

#[test]
fn a_folder_reads() {
    let task = read_back(&definition(), &workload(), &solution("python", "main.py::run")).unwrap();
    assert_eq!((task.candidate.language, task.candidate.style), (Language::Python, Style::Writes));
    let shape = &task.shapes[0];
    assert_eq!((shape.name.as_str(), shape.id.as_str(), shape.bound), ("rows=3", "u1", Bound::default()));
    let tensors: Vec<&Tensor> = shape
        .inputs
        .iter()
        .filter_map(|i| if let Input::Tensor(t, Fill::Random) = i { Some(t) } else { None })
        .collect();
    let a = tensors.iter().find(|tensor| tensor.name == "a").unwrap();
    assert_eq!((tensors.len(), shape.inputs.len()), (2, 3));
    assert_eq!((a.dtype, &a.shape[..]), (Dtype::Bf16, &[4][..]));
    assert_eq!(shape.outputs[0].bytes(), 3 * 8 * 4);
}

#[test]
fn a_trace_without_a_solution_is_a_workload() {
    let trace = json!({"definition": "scale_d8", "workload": workload(), "solution": null, "evaluation": null});
    let task = read_back(&definition(), &trace, &solution("python", "main.py::run")).unwrap();
    assert_eq!(task.shapes[0].record, workload());
}

#[test]
fn workloads_of_the_same_axes_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = workload();
    other["uuid"] = json!("u2");
    other["inputs"]["eps"]["value"] = json!(1e-3);
    let mut third = workload();
    third["axes"]["rows"] = json!(4);
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("definition.json", definition().to_string());
    write("workload.jsonl", format!("{}\n{other}\n{third}\n", workload()));
    write("s.json", solution("python", "main.py::run").to_string());
    let task = task(folder.path(), &folder.path().join("s.json"), None).unwrap();
    let names: Vec<&str> = task.shapes.iter().map(|shape| shape.name.as_str()).collect();
    assert_eq!(names, ["rows=3#u1", "rows=3#u2", "rows=4"]);
}

#[test]
fn tolerances_are_the_workloads() {
    let mut loose = workload();
    loose["tolerance"] = json!({"max_atol": 0.5, "required_matched_ratio": 0.9});
    let task = read_back(&definition(), &loose, &solution("python", "main.py::run")).unwrap();
    assert_eq!(task.shapes[0].bound, Bound { absolute: 0.5, relative: 1e-2, share: 0.9 });
}

#[test]
fn what_this_machine_lacks_is_named_with_the_way_out() {
    let check = |language: &str, entry: &str, parts: &[&str]| {
        let error = read_back(&definition(), &workload(), &solution(language, entry)).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    check("cuda", "main.py::run", &["needs a GPU", "python, pytorch, c or cpp"]);
    check("triton", "main.py::run", &["needs a GPU"]);
    check("cuda_cpp", "main.py::run", &["needs a GPU"]);
    check("cobol", "main.py::run", &["`cobol`"]);
    check("python", "run", &["FILE::FUNCTION"]);
    check("python", "other.py::run", &["not among its sources"]);
}

#[test]
fn a_python_extension_is_no_plain_function() {
    let mut extension = solution("cpp", "k.c::f");
    extension["spec"]["binding"] = json!("torch");
    let error = read_back(&definition(), &workload(), &extension).unwrap_err();
    assert!(error.contains("`torch` is a Python extension") && error.contains("plain function of pointers"), "{error}");
    let mut plain = solution("cpp", "k.c::f");
    let task = read_back(&definition(), &workload(), &plain).unwrap();
    assert_eq!((task.candidate.language, task.candidate.entry.as_str()), (Language::C, "f"));
    plain["sources"][0]["path"] = json!("k.h");
    let error = read_back(&definition(), &workload(), &plain).unwrap_err();
    assert!(error.contains("`k.h` lies beside `k.c`") && error.contains("one file"), "{error}");
}

#[test]
fn mistakes_are_placed() {
    let check = |edit: &dyn Fn(&mut Value, &mut Value, &mut Value), part: &str| {
        let (mut d, mut w, mut s) = (definition(), workload(), solution("python", "main.py::run"));
        edit(&mut d, &mut w, &mut s);
        let error = read_back(&d, &w, &s).unwrap_err();
        assert!(error.contains(part), "{error}");
    };
    check(&|_, w, _| w["axes"] = json!({}), "line 1: no value for the axis `rows`");
    check(&|_, w, _| w["axes"]["rows"] = json!(0), "no dimension of at least 1");
    check(&|_, w, _| w["axes"]["rows"] = json!(1_i64 << 40), "is larger than");
    check(&|_, w, _| drop(w["inputs"].as_object_mut().unwrap().remove("a")), "no word on the input `a`");
    check(&|_, w, _| w["inputs"]["a"] = json!({"type": "custom"}), "no `custom_inputs_entrypoint`");
    check(&|d, _, _| d["inputs"]["x"]["dtype"] = json!("float4_e2m1"), "which no CPU computes with");
    let broken = "line 1: its axes break the definition's constraint `rows % 2 == 0`";
    check(&|d, _, _| d["constraints"] = json!(["cols == 8", "rows % 2 == 0"]), broken);
    check(&|d, _, _| d["axes"]["half"]["expression"] = json!("cols // none"), "`none` is no axis");
    check(&|_, _, s| s["definition"] = json!("other"), "it solves `other`");
    check(&|_, _, s| s["sources"][1]["path"] = json!("../k.c"), "leads out of the solution");
}

#[test]
fn a_bare_files_style_is_in_its_parameters() {
    let definition: Definition = serde_json::from_value(definition()).unwrap();
    let check = |text: &str, expected: Style| assert_eq!(style_of(text, &definition), expected, "{text}");
    check("def run(x, a, eps):\n    y = 1", Style::Returns);
    check("def run(x, a, eps, y):\n    pass", Style::Writes);
    check("void run(const float *x, float *y);", Style::Writes);
}

#[test]
fn constraints_are_held_where_axes_tell() {
    let check = |constraints: &Value, expected: Option<&str>| {
        let mut definition = definition();
        definition["constraints"] = constraints.clone();
        let task = read_back(&definition, &workload(), &solution("python", "main.py::run")).unwrap();
        let said = task
            .remarks
            .iter()
            .find_map(|remark| remark.strip_prefix("constraints on the tensors' content are not checked: "));
        assert_eq!(said, expected, "{constraints}");
    };
    check(&json!(null), None);
    check(&json!(["rows == 3", "half * 2 == cols"]), None);
    check(&json!(["rows == 3", "cols == a[-1].item()"]), Some("cols == a[-1].item()"));
}

#[test]
fn eight_bit_floats_are_read() {
    let mut definition = definition();
    definition["inputs"]["x"]["dtype"] = json!("float8_e4m3fn");
    definition["outputs"]["y"]["dtype"] = json!("float8_e5m2");
    let task = read_back(&definition, &workload(), &solution("python", "main.py::run")).unwrap();
    let shape = &task.shapes[0];
    let x = shape.tensors().map(|(tensor, _)| tensor).find(|tensor| tensor.name == "x").unwrap();
    assert_eq!(x.dtype, Dtype::F8E4M3);
    assert_eq!((shape.outputs[0].dtype, shape.outputs[0].bytes()), (Dtype::F8E5M2, 24));
}

#[test]
fn a_floor_says_what_it_counts() {
    let check = |op_type: Value, bytes: f64, said: &str| {
        let mut definition = definition();
        definition["op_type"] = op_type;
        let task = read_back(&definition, &workload(), &solution("python", "main.py::run")).unwrap();
        assert_eq!(task.shapes[0].work.unwrap().bytes.0, bytes);
        assert!(task.remarks[0].starts_with(said), "{:?}", task.remarks);
    };
    // x and y of 96 bytes each, a of 8.
    check(json!("rmsnorm"), 200.0, "floor: what moving every tensor once takes");
    check(json!("gqa_paged"), 96.0, "floor: what writing the outputs takes");
}
