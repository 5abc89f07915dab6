//! Edits on files: where they apply, and why they don't.

use super::{BASE, base, files};
use model::Digest;
use propose::patch::{Level, admit, apply};
use propose::reply::{Answer, Edit, Form};
use propose::{Fault, Files, Known};

fn replace(search: &str, new: &str) -> Edit {
    Edit::Replace { file: None, search: search.to_owned(), replace: new.to_owned(), line: None }
}

fn of(file: &str, mut edit: Edit) -> Edit {
    let (Edit::Replace { file: name, .. } | Edit::Whole { file: name, .. }) = &mut edit;
    *name = Some(file.to_owned());
    edit
}

fn whole(text: &str) -> Edit {
    Edit::Whole { file: None, text: text.to_owned() }
}

fn answer(edits: &[Edit]) -> Answer {
    Answer { edits: edits.to_vec(), form: Form::Blocks, note: String::new() }
}

/// Level and text after one edit of a one-file candidate; a fault's kind.
fn check(text: &str, edits: &[Edit], expected: Result<(Level, &str), &str>) {
    let found = apply(&files(&[("candidate.c", text)]), &answer(edits));
    let found = found.map(|patched| (patched.levels[0], patched.files["candidate.c"].clone()));
    let wanted = expected.map(|(level, text)| (level, text.to_owned())).map_err(str::to_owned);
    assert_eq!(found.map_err(|fault| fault.kind().to_owned()), wanted, "{edits:?}");
}

#[test]
fn exact_places() {
    check("a\nb\nc\n", &[replace("b", "x")], Ok((Level::Exact, "a\nx\nc\n")));
    check("a\nb\nc\n", &[replace("b\n", "x\n")], Ok((Level::Exact, "a\nx\nc\n")));
    check("a\nb\nc\n", &[replace("\nb\nc", "x\ny")], Ok((Level::Exact, "a\nx\ny\n")));
    check("a\nb\nc", &[replace("c", "x")], Ok((Level::Exact, "a\nb\nx")));
    check("a\nb\nc\n", &[replace("b", "")], Ok((Level::Exact, "a\nc\n")));
    check("a\n\tb = 1;\nc\n", &[replace("b = 1", "b = 2")], Ok((Level::Exact, "a\n\tb = 2;\nc\n")));
    // A line counts before a part of one.
    check("ab\na\n", &[replace("a", "x")], Ok((Level::Exact, "ab\nx\n")));
    check("a\nb\n", &[replace("z", "x")], Err("not-found"));
    check("a\nb\n", &[replace("", "x")], Err("empty-search"));
    check("a\nb\n", &[replace(" \n", "x")], Err("empty-search"));
    check("\u{e9}\u{e9}\n", &[replace("\u{e9}\u{e9}", "x")], Ok((Level::Exact, "x\n")));
}

#[test]
fn white_space_is_forgiven() {
    let text = "void f(void) {\n    if (a) {\n        b = 1;\n\n        c = 2;\n    }\n}\n";
    let new = "void f(void) {\n    if (a) {\n        d = 3;\n    }\n}\n";
    check(text, &[replace("b = 1;\nc = 2;", "d = 3;")], Ok((Level::Whitespace, new)));
    check(text, &[replace("\t\tb  =  1;\n\t\tc = 2; ", "\t\td = 3;")], Ok((Level::Whitespace, new)));
    check(text, &[replace("  b = 1;\n\n\n  c = 2;", "  d = 3;\n")], Ok((Level::Whitespace, new)));
    let nested = "void f(void) {\n    if (a) {\n        for (;;) {\n            d = 3;\n        }\n    }\n}\n";
    check(text, &[replace("b = 1;\nc = 2;", "for (;;) {\n    d = 3;\n}")], Ok((Level::Whitespace, nested)));
    check("a b\na  b\n", &[replace("a   b", "x")], Err("ambiguous"));
}

#[test]
fn anchors_are_a_last_resort() {
    let text = "int f(void) {\n    a();\n    b();\n    c();\n    d();\n    return 1;\n}\n";
    // One line of five misremembered.
    let search = "int f(void) {\n    a();\n    b(0);\n    c();\n    d();\n    return 1;";
    check(
        text,
        &[replace(search, "int f(void) {\n    return 2;")],
        Ok((Level::Anchored, "int f(void) {\n    return 2;\n}\n")),
    );
    // Too many.
    check(
        text,
        &[replace("int f(void) {\n    p();\n    q();\n    r();\n    d();\n    return 1;", "x")],
        Err("not-found"),
    );
    // Other ends.
    check(
        text,
        &[replace("int g(void) {\n    a();\n    b();\n    c();\n    d();\n    return 1;", "x")],
        Err("not-found"),
    );
    let twice = format!("{text}{text}");
    check(&twice, &[replace(search, "x")], Err("ambiguous"));
}

#[test]
fn ambiguity_is_a_fault_unless_a_line_says_which() {
    let text = "a\nb\na\nb\n";
    check(text, &[replace("a", "x")], Err("ambiguous"));
    check(text, &[replace("a\nb", "x")], Err("ambiguous"));
    let at = |line| Edit::Replace { file: None, search: "a".to_owned(), replace: "x".to_owned(), line: Some(line) };
    check(text, &[at(3)], Ok((Level::Exact, "a\nb\nx\nb\n")));
    check(text, &[at(2)], Err("ambiguous"));
    // Overlapping occurrences are two.
    check("a\na\na\n", &[replace("a\na", "x")], Err("ambiguous"));
    let fault = apply(&base(), &answer(&[replace("    for (int i = 0; i < n; i++) {", "x")])).unwrap_err();
    insta::assert_snapshot!(fault, @"
    found at lines 5, 12 of candidate.c, which of them is meant?
        for (int i = 0; i < n; i++) {
    add lines before or after it
    ");
}

#[test]
fn what_is_not_found_is_shown_with_what_is_most_like_it() {
    let fault =
        apply(&base(), &answer(&[replace("    float sum = 1;\n    for (int i = 0; i < n; i++) {", "x")])).unwrap_err();
    insta::assert_snapshot!(fault, @"
    not found in candidate.c:
        float sum = 1;
        for (int i = 0; i < n; i++) {
    most like it is:
        float sum = 0;
        for (int i = 0; i < n; i++) {
    ");
}

#[test]
fn several_edits_are_placed_in_the_original() {
    let swap = [replace("a", "b"), replace("b", "a")];
    check("a\nb\n", &swap, Ok((Level::Exact, "b\na\n")));
    check("a\nb\nc\n", &[replace("a\nb", "x"), replace("b\nc", "y")], Err("overlapping"));
    check("a\nb\nc\n", &[replace("b", "x"), replace("b", "x")], Err("overlapping"));
    check("a\nb\n", &[whole("x"), replace("a", "y")], Err("several-wholes"));
}

#[test]
fn whole_files_end_in_one_line_end() {
    check("a\n", &[whole("x\n\n\n")], Ok((Level::Whole, "x\n")));
    check("a\n", &[whole("x")], Ok((Level::Whole, "x\n")));
    check("a\n", &[whole(&"x".repeat(1 << 20))], Err("too-long"));
}

#[test]
fn line_ends_are_kept() {
    check("a\r\nb\r\n", &[replace("b", "x\ny")], Ok((Level::Exact, "a\r\nx\r\ny\r\n")));
    check("a\r\nb\r\n", &[whole("x\ny\n")], Ok((Level::Whole, "x\r\ny\r\n")));
}

#[test]
fn files_are_told_apart() {
    let two = files(&[("src/a.c", "one\nboth\n"), ("src/b.h", "two\nboth\n")]);
    let check = |edits: &[Edit], expected: Result<&str, &str>| {
        let found = apply(&two, &answer(edits));
        let found = found.map(|patched| patched.files.values().cloned().collect::<Vec<_>>().concat());
        assert_eq!(
            found.map_err(|f| f.kind().to_owned()),
            expected.map(str::to_owned).map_err(str::to_owned),
            "{edits:?}"
        );
    };
    check(&[of("src/b.h", replace("both", "x"))], Ok("one\nboth\ntwo\nx\n"));
    check(&[of("b.h", replace("both", "x"))], Ok("one\nboth\ntwo\nx\n"));
    check(&[of("a.c", replace("one", "x")), of("b.h", replace("two", "y"))], Ok("x\nboth\ny\nboth\n"));
    check(&[replace("two", "x")], Ok("one\nboth\nx\nboth\n"));
    check(&[replace("both", "x")], Err("ambiguous"));
    check(&[replace("none", "x")], Err("not-found"));
    check(&[of("c.c", replace("one", "x"))], Err("unknown-file"));
    check(&[of("../a.c", whole("x"))], Ok("x\ntwo\nboth\n"));
    check(&[whole("x")], Err("unknown-file"));
    // Where there is one file, it is meant whatever it is called; two names are two files.
    let one = files(&[("candidate.c", "a\nb\n")]);
    assert_eq!(apply(&one, &answer(&[of("x.c", replace("a", "z"))])).unwrap().files["candidate.c"], "z\nb\n");
    let both = answer(&[of("x.c", replace("a", "z")), of("y.c", replace("b", "z"))]);
    assert_eq!(apply(&one, &both).unwrap_err().kind(), "unknown-file");
}

#[test]
fn only_regions_may_be_changed() {
    let text =
        "head\n// EVOLVE-BLOCK-START\na\n// EVOLVE-BLOCK-END\ntail\n// EVOLVE-BLOCK-START\nb\n// EVOLVE-BLOCK-END\n";
    let with = |a: &str, b: &str| text.replace("\na\n", a).replace("\nb\n", b);
    check(text, &[replace("a", "x\ny")], Ok((Level::Exact, &with("\nx\ny\n", "\nb\n"))));
    check(text, &[whole(&with("\n", "\nz\n"))], Ok((Level::Whole, &with("\n", "\nz\n"))));
    check(text, &[replace("tail", "x")], Err("outside"));
    check(text, &[replace("// EVOLVE-BLOCK-END\ntail", "// EVOLVE-BLOCK-END\ntail\nx")], Err("outside"));
    check(text, &[replace("a\n// EVOLVE-BLOCK-END", "x")], Err("outside"));
    check(text, &[replace("a", "// EVOLVE-BLOCK-END\nx\n// EVOLVE-BLOCK-START")], Err("outside"));
    check(text, &[whole(&format!("{text}more\n"))], Err("outside"));
    check(text, &[whole("head\n")], Err("outside"));
    let fault = apply(&files(&[("c.c", text)]), &answer(&[replace("tail", "x")])).unwrap_err();
    assert_eq!(fault, Fault::Outside { file: "c.c".to_owned(), line: 5, text: "tail".to_owned() });
}

/// Knows one text, white space aside.
struct One(Files);

impl Known for One {
    fn identity(&self, files: &Files) -> Digest {
        Digest::of(files.values().flat_map(|text| text.split_whitespace()).collect::<String>())
    }

    fn seen(&self, identity: &Digest) -> Option<String> {
        (*identity == self.identity(&self.0)).then(|| "candidate 3".to_owned())
    }
}

#[test]
fn what_is_known_is_not_admitted() {
    let known = One(files(&[("candidate.c", "b")]));
    let check = |after: &str, expected: Result<(), &str>| {
        let found = admit(&base(), &files(&[("candidate.c", after)]), &known);
        assert_eq!(found.map_err(|fault| fault.kind()), expected, "{after}");
    };
    check(BASE, Err("no-change"));
    check(&BASE.replace("    ", "\t"), Err("no-change"));
    check(" b\n", Err("duplicate"));
    check("c", Ok(()));
}
