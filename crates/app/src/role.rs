//! The roles that this same binary plays for itself: judge, builder, runner.
//!
//! Must come before anything else in `main`: a role parses no arguments of people's, installs no handler, opens nothing.

/// First argument of a builder.
const BUILDER: &str = "__builder";
/// First argument of a runner.
const RUNNER: &str = "__runner";
/// First argument of a Python runner.
const PYTHON: &str = "__python";
/// First argument of an evaluator.
const EVALUATOR: &str = "__evaluator";

/// Plays the role that the first argument names, and does not return; returns when it names none.
pub fn play(first: Option<&str>) {
    match first {
        Some(judge::client::ROLE) => judge::judge_main(),
        Some(BUILDER) => worker::builder_main(),
        Some(RUNNER) => worker::runner_main(),
        Some(PYTHON) => worker::python_main(),
        Some(EVALUATOR) => worker::evaluator_main(),
        _ => {}
    }
}
