//! A certificate in words and as Markdown. No certificate, no number.

use crate::markdown::cell;
use model::{Certificate, RungOutcome};
use std::fmt::Write as _;

/// `The certificate holds: 9 rungs passed, none failed, 3 not run.`
pub fn certificate_summary(certificate: &Certificate) -> String {
    let count = |outcome| certificate.rungs.iter().filter(|rung| rung.outcome == outcome).count();
    let (passed, failed, not_run) =
        (count(RungOutcome::Passed), count(RungOutcome::Failed), count(RungOutcome::NotRun));
    match certificate.fell_at() {
        Some(rung) => format!(
            "The certificate fell at rung {} ({}), so this is not a result: {passed} passed, {failed} failed, \
             {not_run} not run.",
            rung.number, rung.name
        ),
        None if passed == 0 => "The certificate is empty: no rung was run.".to_owned(),
        None => format!("The certificate holds: {passed} rungs passed, none failed, {not_run} not run."),
    }
}

/// A rung's outcome, legible without colour.
pub(crate) fn outcome_word(outcome: RungOutcome) -> &'static str {
    match outcome {
        RungOutcome::Passed => "passed",
        RungOutcome::Failed => "FAILED",
        RungOutcome::NotRun => "not run",
    }
}

/// A level of trust, in words.
pub(crate) fn trust_words(trust: model::Trust) -> &'static str {
    match trust {
        model::Trust::Sealed => "sealed: native code that can only compute",
        model::Trust::Fuelled => "fuelled: WASM with a limit on its steps",
        model::Trust::DeviceOnly => "device-only: GPU code, the host side is rooflab's",
        model::Trust::Open => "open: contained, but it shares a process with its runtime",
        model::Trust::Unconfined => "unconfined: run without the sandbox, nothing is promised",
    }
}

/// The certificate as a Markdown page.
pub fn certificate_markdown(certificate: &Certificate) -> String {
    let mut text =
        format!("# Certificate: {}\n\n{}\n\n", cell(&certificate.problem), cell(&certificate_summary(certificate)));
    let _ = write!(
        text,
        "- candidate `{}`\n- problem `{}`\n- machine: {}, {} cores, {}\n- trust: {}\n- held-out data looked at {}\n\
         - rooflab {}\n\n| rung | | outcome | |\n|---|---|---|---|\n",
        certificate.candidate.short(),
        certificate.problem_digest.short(),
        cell(&certificate.machine.cpu),
        certificate.machine.cores,
        certificate.machine.kernel,
        trust_words(certificate.trust),
        crate::figures::counted(certificate.held_out_looks as usize, "time"),
        certificate.version,
    );
    for rung in &certificate.rungs {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            rung.number,
            cell(&rung.name),
            outcome_word(rung.outcome),
            cell(&rung.detail)
        );
    }
    text
}
