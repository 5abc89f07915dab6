//! Prompts from a full brief and from an empty one.

use super::files;
use propose::prompt::{Brief, Failure, Figure, Parent, ProblemFacts, Standing, Templates, difference};
use propose::{Fault, Prompt};

fn brief() -> Brief {
    let text = |text: &str| text.to_owned();
    Brief {
        problem: ProblemFacts {
            title: text("Causal attention"),
            prototype: text("void attention(const float *q, float *out, int64_t len);"),
            facts: vec![text("DIM = 128"), text("out[HEADS_Q][len][DIM], output")],
        },
        target: vec![Standing {
            workload: text("len=128"),
            time: text("2.1 ms"),
            floor: Some(text("0.4 ms")),
            fraction: Some(0.1904),
            bound: Some(text("f32 arithmetic")),
        }],
        machine: vec![Figure { name: text("f32 FMA"), value: text("150 GFLOP/s") }],
        hints: text("- Two query heads share one key head.\n"),
        ledger: vec![text("row-block won 3 of 5 times, -0.4 ln at the most")],
        failures: vec![Failure::new("unrolled", "failed (build)", "x.c:3: error: no\n    y\n    ^")],
        others: vec![Parent {
            id: Some(4),
            note: text("interchanged"),
            effect: text("ln -0.10 [-0.12, -0.08] against the start"),
            lineage: Vec::new(),
            code: difference("a\nb\nc\n", "a\nx\nc\n"),
        }],
        best: Parent {
            id: Some(7),
            effect: text("1.8 times as fast as the start"),
            lineage: vec![text("blocked")],
            ..Parent::default()
        },
        files: files(&[("candidate.c", "a\nb\nc\n")]),
        number: text("12.0"),
    }
}

fn question(brief: &Brief) -> String {
    Templates::shipped().unwrap().prompt(brief, None).unwrap().turns[0].text.clone()
}

#[test]
fn a_prompt_says_what_is_known() {
    insta::assert_snapshot!(question(&brief()));
}

#[test]
fn what_is_not_known_leaves_no_trace() {
    insta::assert_snapshot!(question(&Brief { files: files(&[("candidate.c", "a\n")]), ..Brief::default() }));
}

#[test]
fn templates_can_be_overridden_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("system.txt"), "You are {{ problem.title }}.").unwrap();
    let own = Templates::from_folder(folder.path()).unwrap();
    let Prompt { system, turns } = own.prompt(&brief(), None).unwrap();
    assert_eq!(system, "You are Causal attention.");
    assert_eq!(turns[0].text, question(&brief()));
    assert_eq!(own.prompt(&brief(), Some("Number {{ number }}")).unwrap().system, "Number 12.0");
    assert!(own.repair(&Fault::NoCode).unwrap().contains("the reply has no code"));
}

#[test]
fn a_template_that_asks_for_too_much_is_an_error() {
    let check = |text: &str, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("question.txt"), text).unwrap();
        let error = Templates::from_folder(folder.path()).and_then(|own| own.prompt(&brief(), None)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check("{{ problem.color }}", "undefined");
    check("{% if %}", "syntax");
    assert!(Templates::from_folder(std::path::Path::new("nowhere")).is_err());
}

#[test]
fn the_shipped_templates_say_how_to_reply() {
    let system = Templates::shipped().unwrap().prompt(&brief(), None).unwrap().system;
    // What the prompt shows as the form is read as that form.
    let reply = super::reply(system.as_bytes(), propose::Ended::Complete);
    let expected = propose::reply::Expected { files: &brief().files, entry: "attention" };
    assert_eq!(propose::reply::parse(&reply, &expected).unwrap().form, propose::reply::Form::Blocks);
}
