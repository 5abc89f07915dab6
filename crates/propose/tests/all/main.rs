//! The crate from outside: replies of every kind, patches, records, services with every fault that we know of.

mod command;
mod endpoint;
mod exchange;
mod faulty;
mod mailbox;
mod patch;
mod prompt;
mod real;
mod record;
mod reply;
mod server;

use model::Digest;
use propose::{Ask, Ended, Files, Known, Progress, Reply, Usage, Verbatim};
use std::ops::ControlFlow;
use std::time::Duration;

/// The source that most tests change.
const BASE: &str = "\
#include \"problem.h\"

static float dot(const float *a, const float *b, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

void entry(const float *x, float *y, int n) {
    for (int i = 0; i < n; i++) {
        y[i] = dot(x, x, n);
    }
}
";

fn files(of: &[(&str, &str)]) -> Files {
    of.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn base() -> Files {
    files(&[("candidate.c", BASE)])
}

fn reply(bytes: &[u8], ended: Ended) -> Reply {
    Reply { text: Verbatim(bytes.to_vec()), ended, usage: Usage::estimated(10, bytes.len()), model: "m".to_owned() }
}

/// Conditions of a call that nobody listens to.
fn calm<R>(limit: Duration, with: impl FnOnce(&mut Ask<'_>) -> R) -> R {
    let mut deaf = |_: Progress| ControlFlow::Continue(());
    with(&mut Ask { limit, max_output: 1000, progress: &mut deaf })
}

/// A campaign that has seen no candidate yet.
struct Nothing;

impl Known for Nothing {
    fn identity(&self, files: &Files) -> Digest {
        Digest::of(files.values().flat_map(|text| text.split_whitespace()).collect::<String>())
    }

    fn seen(&self, _: &Digest) -> Option<String> {
        None
    }
}
