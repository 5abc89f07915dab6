//! Every format as its tool writes it, and every way in which a file can be bad.

use super::*;

fn read_text(name: &str, text: &str, reading: &Reading) -> Result<Vec<SampleSet>, CompareError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    read(&path, reading)
}

fn in_ms() -> Reading {
    Reading { unit: Some(TimeUnit::Milli), ..Reading::default() }
}

#[test]
fn each_format() {
    let check = |name: &str, text: &str, format: Format, expected: &[(&str, &[f64])]| {
        let sets = read_text(name, text, &Reading::default()).unwrap();
        assert_eq!(sets.len(), expected.len(), "{name}");
        for (set, (expected_name, seconds)) in sets.iter().zip(expected) {
            assert_eq!((set.name.as_str(), set.format), (*expected_name, format));
            assert_eq!(set.seconds.len(), seconds.len(), "{name}");
            assert!(set.seconds.iter().zip(*seconds).all(|(a, b)| (a / b - 1.0).abs() < 1e-6), "{name}: {set:?}");
        }
    };
    let text = r#"{"results": [{"command": "sleep 0.1", "mean": 0.1, "times": [0.1, 0.2]}, {"command": "b", "times": [1, 2]}]}"#;
    check("h.json", text, Format::Hyperfine, &[("sleep 0.1", &[0.1, 0.2]), ("b", &[1.0, 2.0])]);
    let text = r#"{"sampling_mode": "Linear", "iters": [10.0, 20.0], "times": [1000.0, 4000.0]}"#;
    check("fib/new/sample.json", text, Format::Criterion, &[("fib", &[1e-7, 2e-7])]);
    let text = r#"{"context": {}, "benchmarks": [
        {"name": "BM/8", "run_name": "BM/8", "run_type": "iteration", "real_time": 5.0, "time_unit": "ns"},
        {"name": "BM/8", "run_name": "BM/8", "run_type": "iteration", "real_time": 6.0, "time_unit": "us"},
        {"name": "BM/8_mean", "run_name": "BM/8", "run_type": "aggregate", "real_time": 5.5, "time_unit": "ns"}]}"#;
    check("g.json", text, Format::GoogleBenchmark, &[("BM/8", &[5e-9, 6e-6])]);
    let text = r#"{"version": "1.0", "metadata": {"name": "telco", "unit": "second"}, "benchmarks": [{"runs": [
        {"warmups": [[1, 0.2]]}, {"values": [0.11, 0.12]}, {"values": [0.13]}]}]}"#;
    check("p.json", text, Format::Pyperf, &[("telco", &[0.11, 0.12, 0.13])]);
    let text =
        r#"{"machine_info": {}, "benchmarks": [{"name": "t", "fullname": "a.py::t", "stats": {"data": [0.5, 0.25]}}]}"#;
    check("y.json", text, Format::PytestBenchmark, &[("a.py::t", &[0.5, 0.25])]);
    check(
        "c.csv",
        "old_ms,new (us)\n1,2\n3,4\n5,\n",
        Format::Csv,
        &[("old", &[1e-3, 3e-3, 5e-3]), ("new", &[2e-6, 4e-6])],
    );
    check(
        "c.csv",
        "\u{feff}# from a log\ntimestamp;\"run [s]\"\n10;0.5\n11;0.25\n",
        Format::Csv,
        &[("run", &[0.5, 0.25])],
    );
}

#[test]
fn nvbench_reads_its_samples() {
    let folder = tempfile::tempdir().unwrap();
    let json = r#"{"benchmarks": [{"name": "copy", "states": [{"name": "N=1", "summaries": [
        {"tag": "nv/json/bin:nv/cold/sample_times", "data": [
            {"name": "filename", "type": "string", "value": "r.json-bin/0.bin"},
            {"name": "size", "type": "int64", "value": "2"}]}]}]}]}"#;
    let path = folder.path().join("r.json");
    std::fs::write(&path, json).unwrap();
    let message = read(&path, &Reading::default()).unwrap_err().to_string();
    assert!(message.contains("missing") && message.contains("--jsonbin"), "{message}");
    std::fs::create_dir(folder.path().join("r.json-bin")).unwrap();
    let bytes: Vec<u8> = [0.5_f32, 0.25].iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(folder.path().join("r.json-bin/0.bin"), &bytes).unwrap();
    assert_eq!(read(&path, &Reading::default()).unwrap()[0].seconds, [0.5, 0.25]);
    std::fs::write(folder.path().join("r.json-bin/0.bin"), &bytes[..6]).unwrap();
    assert!(read(&path, &Reading::default()).unwrap_err().to_string().contains("cut off"));
}

fn is_refused(name: &str, text: &str, problem: &str, fix: &str) {
    let error = read_text(name, text, &Reading::default()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains(problem) && message.contains(fix), "{message}");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn bad_rows_name_the_problem_and_the_fix() {
    let check = is_refused;
    check("a.json", "[1, 2]", "list of other things", "an object a result");
    check("a.json", r#"[{"x_ms": 1}, {"x_ms": 2"#, "ends in the middle", "export it again");
    check("a.json", r#"[{"x_ms": 1}, {"x_ms": "2 ms"}]"#, "row 2: `x` is \"2 ms\"", "leave the key away");
    check("a.json", r#"[{"x_ms": 1}, {"x_ms": -2}]"#, "negative", "CLOCK_MONOTONIC");
    check("a.json", r#"[{"x": 1}, {"x": 2}]"#, "unit of `x`", "--unit");
    check("a.json", r#"[{"x_ms": 1, "y": 1}, {"x_ms": 2}]"#, "mixes columns", "every column");
    check("a.json", r#"[{"at": 2, "x_ms": 1}, {"at": 1, "x_ms": 2}]"#, "row 2: the clock goes backwards", "steady");
    check("a.json", r#"[{"x_s": 1}, {"x_s": 1e999}]"#, "not JSON", "again");
}

#[test]
fn bad_files_name_the_problem_and_the_fix() {
    let check = is_refused;
    check("a.csv", "", "is empty", "again");
    check("a.csv", "  \n\n", "is empty", "again");
    check("a.csv", "# nothing\n", "no rows", "one sample a line");
    check("a.csv", "x_ms\n", "0 samples", "at least 20");
    check("a.csv", "x_ms\n5\n", "1 sample,", "at least 20");
    check("a.csv", "x_ms\n5\nNaN\n", "line 3: `x` is NaN", "remove the row");
    check("a.csv", "x_ms\n5\ninf\n", "is inf", "remove the row");
    check("a.csv", "x_ms\n5\n-3\n", "negative", "CLOCK_MONOTONIC");
    check("a.csv", "x_ms\n5\n0\n", "is 0", "more work");
    check("a.csv", "x_ms\n5\n1,5\n", "line 3 has more columns", "one sample a cell");
    check("a.csv", "x_ms\n5\n7ms\n", "`7ms` in `x` is not a number", "one unit a column");
    check("a.csv", "x\n5\n6\n", "unit of `x`", "--unit");
    check("a.csv", "5\n6\n", "unit of `a`", "--unit");
    check("a.csv", "x_ms,y\n5,6\n7,8\n", "mixes columns", "every column");
    check("a.csv", "x_ms,y_ms\n5,6\n7", "middle of line 3", "export it again");
    check("a.csv", "at,x_ms\n2,5\n1,6\n", "clock goes backwards", "steady clock");
    check("a.csv", "x_s\n5\n1e300\n", "days", "--unit");
    check("a.csv", "x_s\n5\n1e999\n", "is inf", "remove");
    check("a.json", r#"{"results": [{"command": "a", "times": [1, 2"#, "ends in the middle", "export it again");
    check("a.json", r#"{"results": [{"command": "a", "times": [1, NaN]}]}"#, "not JSON at line 1", "no NaN");
    check(
        "a.json",
        r#"{"results": [{"command": "a", "times": [1, null]}]}"#,
        "sample 2 of `a` is not a number",
        "remove",
    );
    check("a.json", r#"{"results": [{"command": "a", "mean": 1}]}"#, "no single times", "--export-json");
    check("a.json", r#"{"results": []}"#, "no timings", "filter");
    check("a.json", r#"{"what": 1}"#, "no tool that is known", "hyperfine");
    check("a.json", r#"{"iters": [1], "times": [1, 2]}"#, "counts of iterations", "criterion again");
    check(
        "a.json",
        r#"{"context": {}, "benchmarks": [{"name": "m", "run_type": "aggregate"}]}"#,
        "aggregates only",
        "aggregates_only away",
    );
    check(
        "a.json",
        r#"{"context": {}, "benchmarks": [{"name": "m", "real_time": 1, "time_unit": "fortnight"}]}"#,
        "unknown unit `fortnight`",
        "ns, us, ms or s",
    );
    check(
        "a.json",
        r#"{"context": {}, "benchmarks": [{"name": "m", "real_time": 1}]}"#,
        "1 sample,",
        "--benchmark_repetitions",
    );
    check("a.json", r#"{"benchmarks": [{"name": "k", "states": [{"name": "s"}]}]}"#, "only summaries", "--jsonbin");
    check("a.json", r#"{"metadata": {"unit": "byte"}, "benchmarks": [{"runs": []}]}"#, "not in time", "measures time");
    check("a.csv", "commit,x_ms\nabc,5\n", "1 sample,", "at least 20");
    check("a.json", r#"{"rooflab": "compare/99"}"#, "schema `compare/99`", "compare/1");
}

#[test]
fn binary_and_missing_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    assert!(read(&path, &in_ms()).unwrap_err().to_string().contains("check the path"));
    std::fs::write(&path, [0x31, 0x0a, 0xff, 0xfe]).unwrap();
    assert!(read(&path, &in_ms()).unwrap_err().to_string().contains("not text (byte 2)"));
}

/// Our own records, as they come and as they must not be.
#[test]
fn own_records_are_held_against_themselves() {
    use crate::outcome::{ArmReport, Comparison, Unit};
    let arm = |name: &str| ArmReport {
        name: name.into(),
        median: None,
        user: None,
        system: None,
        peak_memory: None,
        samples: Vec::new(),
    };
    let unit = |at: f64| Unit { at, ln: 0.01 };
    let comparison = Comparison {
        arm: "b".into(),
        against: "a".into(),
        is_control: false,
        verdict: stats::Decision::Undecided,
        effect: None,
        interval: [None, None],
        e: None,
        p: None,
        accepted: None,
        units: vec![unit(1.0), unit(2.0), unit(3.0)],
    };
    let record = Outcome {
        comparisons: vec![comparison],
        arms: vec![arm("a"), arm("b")],
        ..Outcome::empty(&crate::Settings::default())
    };
    let read = |record: &Outcome| read_text("r.json", &record.json(), &Reading::default());
    // Pairs without samples, as the judge gives them.
    assert_eq!(read(&record).unwrap().len(), 2);
    let refused = |change: fn(&mut Outcome), expected: &str| {
        let mut bad = record.clone();
        change(&mut bad);
        let message = read(&bad).unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("measure again"), "{message}");
    };
    refused(|bad| bad.comparisons[0].units[1].at = 0.5, "pair 2 of `b`: the clock goes backwards, to 0.5");
    refused(
        |bad| bad.design = Some(stats::Design::anytime(0.01, 0.0, stats::Clip { at: -1.0, mean_square: 1.0 }, 9)),
        "a design that no session can have",
    );
    let cut = &record.json()[..record.json().len() / 2];
    assert!(read_text("r.json", cut, &Reading::default()).unwrap_err().to_string().contains("ends in the middle"));
}

#[test]
fn a_sparse_gigantic_file_is_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    std::fs::File::create(&path).unwrap().set_len(5 << 30).unwrap();
    assert!(read(&path, &in_ms()).unwrap_err().to_string().contains("5.4 GB"));
}

#[test]
fn which_sets_are_meant() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "a_ms,b_ms,c_ms\n1,2,3\n4,5,6\n").unwrap();
    let message = read_two(&path, None, &Reading::default()).unwrap_err().to_string();
    assert!(message.contains("3 sets: `a`, `b`, `c`") && message.contains("--name"), "{message}");
    let reading =
        |names: &[&str]| Reading { names: names.iter().map(|n| (*n).to_owned()).collect(), ..Reading::default() };
    let (a, b) = read_two(&path, None, &reading(&["c", "a"])).unwrap();
    assert_eq!((a.name.as_str(), b.name.as_str()), ("c", "a"));
    assert!(read_two(&path, None, &reading(&["c", "z"])).unwrap_err().to_string().contains("no set `z`"));
    let (a, b) = read_two(&path, Some(&path), &reading(&["b"])).unwrap();
    assert_eq!((a.name.as_str(), b.name.as_str()), ("b", "b"));
}

#[test]
fn a_hundred_thousand_rows() {
    let text: String = std::iter::once("old_ms,new_ms\n".to_owned())
        .chain((0..100_000).map(|i| format!("{}.{:03},{}.{:03}\n", 10 + i % 3, i % 997, 11 + i % 5, i % 991)))
        .collect();
    let sets = read_text("big.csv", &text, &Reading::default()).unwrap();
    assert_eq!((sets[0].seconds.len(), sets[1].seconds.len()), (100_000, 100_000));
}
