//! Replies as models, programs and people write them.

use super::{BASE, base, files, reply};
use propose::Ended;
use propose::reply::{Answer, Edit, Expected, parse};

fn read(text: &[u8], ended: Ended) -> Result<Answer, String> {
    let files = base();
    parse(&reply(text, ended), &Expected { files: &files, entry: "entry" }).map_err(|fault| fault.kind().to_owned())
}

/// The edits in short: `file|search|replace`, `file||whole text`.
fn short(answer: &Answer) -> Vec<String> {
    let line = |edit: &Edit| match edit {
        Edit::Replace { file, search, replace, line } => {
            let at = line.map_or(String::new(), |line| format!("@{line}"));
            format!("{}{at}|{search}|{replace}", file.as_deref().unwrap_or("?"))
        }
        Edit::Whole { file, text } => format!("{}||{text}", file.as_deref().unwrap_or("?")),
    };
    answer.edits.iter().map(line).collect()
}

fn check(text: &str, expected: Result<&[&str], &str>) {
    check_ended(text, Ended::Complete, expected);
}

fn check_ended(text: &str, ended: Ended, expected: Result<&[&str], &str>) {
    let found = read(text.as_bytes(), ended).map(|answer| short(&answer));
    let wanted = expected.map(|all| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()).map_err(str::to_owned);
    assert_eq!(found, wanted, "{text}");
}

const BLOCK: &str = "<<<<<<< SEARCH\na\nb\n=======\nc\n>>>>>>> REPLACE";

#[test]
fn blocks_are_read() {
    let one: Result<&[&str], &str> = Ok(&["?|a\nb|c"]);
    check(BLOCK, one);
    check(&format!("IDEA: x\n\nSome prose.\n\n{BLOCK}\n\nMore prose.\n"), one);
    check(&format!("```c\n{BLOCK}\n```"), one);
    check(&format!("```\n{BLOCK}\n```\n"), one);
    check(&BLOCK.replace('\n', "\r\n"), one);
    check("<<<<<< SEARCH\na\nb\n======\nc\n>>>>>> REPLACE", one);
    check("<<<<<<< ORIGINAL\na\nb\n=======\nc\n>>>>>>> UPDATED", one);
    check("  <<<<<<< search\na\nb\n  =======\nc\n  >>>>>>> replace", one);
    check("<<<<<<< SEARCH\na\n=======\n>>>>>>> REPLACE", Ok(&["?|a|"]));
    check(&format!("{BLOCK}\n{BLOCK}"), Ok(&["?|a\nb|c", "?|a\nb|c"]));
}

#[test]
fn blocks_name_their_file() {
    let one: Result<&[&str], &str> = Ok(&["x.c|a\nb|c"]);
    for heading in ["x.c", "**x.c**", "### `x.c`", "File: x.c", "In `x.c`:", "// x.c", "./x.c"] {
        check(&format!("Text.\n\n{heading}\n{BLOCK}"), one);
        check(&format!("{heading}\n```c\n{BLOCK}\n```"), one);
    }
    check(&format!("```c:x.c\n{BLOCK}\n```"), one);
    check(&format!("```c title=\"x.c\"\n{BLOCK}\n```"), one);
    check(&BLOCK.replace("SEARCH", "SEARCH x.c"), one);
    check(&format!("x.c\n{BLOCK}\nh.h\n{BLOCK}"), Ok(&["x.c|a\nb|c", "h.h|a\nb|c"]));
    check(&format!("This is faster, e.g. for large n.\n{BLOCK}"), Ok(&["?|a\nb|c"]));
}

#[test]
fn blocks_that_are_not_well_formed() {
    check("<<<<<<< SEARCH\na\n>>>>>>> REPLACE", Err("malformed"));
    check("<<<<<<< SEARCH\na\n=======\nc", Err("truncated"));
    check("<<<<<<< SEARCH\na", Err("truncated"));
    check(&format!("<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n{BLOCK}"), Err("malformed"));
    check("<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE", Err("malformed"));
    check(&format!("<<<<<<< SEARCH\na\n=======\nb\n{BLOCK}"), Err("malformed"));
    check_ended(BLOCK, Ended::Length, Err("truncated"));
    check_ended(BLOCK, Ended::Cut, Err("truncated"));
    check_ended(BLOCK, Ended::Unsaid, Ok(&["?|a\nb|c"]));
    check_ended(BLOCK, Ended::Withheld, Err("withheld"));
}

#[test]
fn diffs_are_read() {
    let body = "@@ -3,4 +3,4 @@\n a\n-b\n+c\n d\n";
    let one: Result<&[&str], &str> = Ok(&["x.c@3|a\nb\nd|a\nc\nd"]);
    let headed = format!("--- a/x.c\n+++ b/x.c\n{body}");
    check(&headed, one);
    check(&format!("```diff\n{headed}```"), one);
    check(&format!("Prose.\n\n```diff\ndiff --git a/x.c b/x.c\nindex 1..2\n{headed}```\nMore."), one);
    check(&format!("{headed}\nThis is faster.\n"), one);
    check(&headed.replace('\n', "\r\n"), one);
    check(&headed.replace("+++ b/x.c", "+++ x.c\t2026-01-01"), one);
    check(body, Ok(&["?@3|a\nb\nd|a\nc\nd"]));
    // Wrong counts, no numbers, an empty context line without its space, a context line without its space.
    check("@@ -3,9 +3,1 @@\n a\n-b\n+c\n", Ok(&["?@3|a\nb|a\nc"]));
    check("@@ ... @@\n a\n-b\n+c\n", Ok(&["?|a\nb|a\nc"]));
    check("@@ -1 +1 @@\n a\n\n-b\n+c\n", Ok(&["?@1|a\n\nb|a\n\nc"]));
    check("```diff\n@@ -1 +1 @@\na\n-b\n+c\n```", Ok(&["?@1|a\nb|a\nc"]));
    check("@@ -1 +1 @@\n-b\n+c\n\\ No newline at end of file\n", Ok(&["?@1|b|c"]));
    check(&format!("{headed}@@ -9 +9 @@\n-e\n+f\n"), Ok(&["x.c@3|a\nb\nd|a\nc\nd", "x.c@9|e|f"]));
    let two = format!("{headed}--- a/h.h\n+++ b/h.h\n@@ -1 +1 @@\n-e\n+f\n");
    check(&two, Ok(&["x.c@3|a\nb\nd|a\nc\nd", "h.h@1|e|f"]));
    let agent = "*** Begin Patch\n*** Update File: x.c\n@@ void entry\n a\n-b\n+c\n*** End Patch";
    check(agent, Ok(&["x.c|a\nb|a\nc"]));
    check(&agent.replace("@@ void entry\n", ""), Ok(&["x.c|a\nb|a\nc"]));
    check("@@ -1 +1 @@\n a\n b\n", Err("malformed"));
    check("--- a/x.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", Err("malformed"));
    check_ended(&headed, Ended::Cut, Err("truncated"));
}

#[test]
fn whole_files_are_read() {
    let code = "void entry(void) {\n    x = 1;\n}\n";
    let one = format!("?||{code}");
    let one: Result<&[&str], &str> = Ok(&[&one]);
    check(&format!("```c\n{code}```"), one);
    check(&format!("Prose with `entry`.\n\n~~~~C\n{code}~~~~\n\nMore prose."), one);
    check(&format!("```\n{code}```"), one);
    check(&format!("```markdown\nIDEA: x\n```c\n{code}```\n```"), one);
    check(&format!("  ```c\n  {}  ```", code.trim_end().replace('\n', "\n  ") + "\n"), one);
    // Build commands and output beside it are no sources; an old fragment is not the function.
    check(&format!("```sh\ncc entry.c\n```\n```c\nint i;\n```\n```c\n{code}```\n```text\nok\n```"), one);
    // The same twice is once.
    check(&format!("```c\n{code}```\n```c\n{code}```"), one);
    check(&format!("```c\n{code}```\n```c\n{}```", code.replace('1', "2")), Err("several-wholes"));
    check("```c\nstatic int other(void) { return entry(1); }\n```", Err("no-entry"));
    check("```c\nvoid entry(void);\n```", Err("no-entry"));
    let named = format!("candidate.c||{code}");
    check(&format!("candidate.c\n```c\n{code}```"), Ok(&[&named]));
    check(&format!("```c:candidate.c\n{code}```"), Ok(&[&named]));
    check("candidate.c\n```c\nint fragment;\n```", Err("no-entry"));
    check(&format!("x.h\n```c\nint i;\n```\ncandidate.c\n```c\n{code}```"), Ok(&[&named, "x.h||int i;\n"]));
    check("x.h\n```c\nint i;\n```\nx.h\n```c\nint j;\n```\n", Err("several-wholes"));
}

#[test]
fn whole_files_that_are_cut() {
    let code = "void entry(void) {\n    x = 1;\n}\n";
    let one = format!("?||{code}");
    check(&format!("```c\n{code}"), Ok(&[&one]));
    check_ended(&format!("```c\n{code}"), Ended::Unsaid, Ok(&[&one]));
    check_ended(&format!("```c\n{code}"), Ended::Length, Err("truncated"));
    check_ended(&format!("```c\n{code}```\nAnd so"), Ended::Length, Ok(&[&one]));
    check("```c\nvoid entry(void) {\n    x = 1;\n", Err("truncated"));
    check("```c\nvoid entry(void) {\n    s = \"}\"; // }\n", Err("truncated"));
    check("```c\n#include <math.h>\n", Err("truncated"));
}

#[test]
fn code_without_a_fence() {
    let code = "#include <math.h>\nvoid entry(void) {\n    x = 1;\n}\n";
    let one = format!("?||{code}");
    check(code, Ok(&[&one]));
    check(&format!("Here it is:\n\n{code}\nIt's faster.\n"), Ok(&[&one]));
    check("#include <math.h>\nvoid entry(void) {\n    x = 1;\n", Err("truncated"));
    check("#include <math.h>\nvoid f(void) {\n}\nvoid entry(void) {\n    if (a) {\n", Err("truncated"));
    check("I would unroll the loop.", Err("no-code"));
    check("static thinking about entry", Err("no-code"));
}

#[test]
fn thinking_is_not_the_reply() {
    let one: Result<&[&str], &str> = Ok(&["?|a\nb|c"]);
    let other = BLOCK.replace('c', "z");
    check(&format!("<think>\n{other}\n</think>\n{BLOCK}"), one);
    check(&format!("<Thinking>hm</Thinking>\n<think>hm</think>\n{BLOCK}"), one);
    check(&format!("hm\n{other}\n</think>\n\n{BLOCK}"), one);
    check(&format!("<|channel|>analysis<|message|>{other}<|end|><|channel|>final<|message|>\n{BLOCK}<|return|>"), one);
    check(&format!("{BLOCK}\n<|im_end|>"), one);
    check("<think>\nhm", Err("only-thinking"));
    check("<think>hm</think>  \n", Err("only-thinking"));
    check("</think>", Err("only-thinking"));
    check("", Err("empty"));
    check(" \r\n\t", Err("empty"));
}

#[test]
fn bytes_that_are_not_utf8() {
    let check = |bytes: &[u8], expected: Result<&str, &str>| {
        let found = read(bytes, Ended::Complete).map(|answer| short(&answer).join(";"));
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned));
    };
    let with =
        |prose: &[u8], code: &[u8]| [prose, b"\n<<<<<<< SEARCH\na\n=======\n", code, b"\n>>>>>>> REPLACE\n"].concat();
    check(&with(b"caf\xe9", b"c"), Ok("?|a|c"));
    check(&with(b"", b"c // caf\xe9"), Err("not-text"));
    check(&with("caf\u{e9} \u{fffd}".as_bytes(), "c // \u{e9}".as_bytes()), Ok("?|a|c // \u{e9}"));
    check(&[b"\xef\xbb\xbf".as_slice(), BLOCK.as_bytes()].concat(), Ok("?|a\nb|c"));
    let wide: Vec<u8> = BLOCK.encode_utf16().flat_map(u16::to_le_bytes).collect();
    check(&[b"\xff\xfe".as_slice(), &wide].concat(), Ok("?|a\nb|c"));
    check(&with(b"\x1b[1mBold\x1b[0m\x07", b"\x1b[32mc\x1b[0m"), Ok("?|a|c"));
}

#[test]
fn code_that_is_left_out() {
    let whole = |line: &str| format!("```c\n{line}\nvoid entry(void) {{}}\n```");
    for line in [
        "// ... rest of the code unchanged",
        "/* existing code ... */",
        "...",
        "// ...",
        "/* \u{2026} same as before */",
    ] {
        check(&whole(line), Err("elided"));
    }
    for line in ["// wait ... what", "int x; // and the rest", "// the rest of the keys", "printf(\"...\");"] {
        let expected = format!("?||{line}\nvoid entry(void) {{}}\n");
        check(&whole(line), Ok(&[&expected]));
    }
    let old = files(&[("candidate.c", "// ...\nvoid entry(void) {}\n")]);
    let text = whole("// ...");
    assert!(parse(&reply(text.as_bytes(), Ended::Complete), &Expected { files: &old, entry: "entry" }).is_ok());
}

#[test]
fn notes_say_what_was_meant() {
    let check = |text: &str, expected: &str| {
        assert_eq!(read(text.as_bytes(), Ended::Complete).unwrap().note, expected, "{text}");
    };
    check(&format!("IDEA: block the loop\n{BLOCK}"), "block the loop");
    check(&format!("Sure!\n\n**IDEA:** block the loop\n{BLOCK}"), "block the loop");
    check(&format!("## Unrolled by four\n\n{BLOCK}"), "Unrolled by four");
    check(BLOCK, "");
    check(BASE, "");
    check(&format!("{}\n{BLOCK}", "long ".repeat(100)), &"long ".repeat(32));
}

proptest::proptest! {
    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let _ = read(&bytes, Ended::Complete);
    }

    #[test]
    fn nothing_made_of_marks_panics(parts in proptest::collection::vec(0usize..20, 0..30), ended in 0usize..2) {
        const PARTS: [&str; 20] = [
            "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "```c\n", "```\n", "```diff\n", "@@ -1 +1 @@\n",
            "--- a/x.c\n", "+++ b/x.c\n", "-a\n", "+b\n", " c\n", "\n", "<think>", "</think>\n", "void entry(void) {\n",
            "}\n", "*** Update File: x.c\n", "\u{e9}\"'/*", "x.c\n",
        ];
        let text: String = parts.iter().map(|at| PARTS[*at]).collect();
        let files = base();
        let reply = reply(text.as_bytes(), [Ended::Complete, Ended::Cut][ended]);
        if let Ok(answer) = parse(&reply, &Expected { files: &files, entry: "entry" }) {
            let _ = propose::patch::apply(&files, &answer);
        }
    }
}
