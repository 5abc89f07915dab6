//! App <-> judge: one JSON object a line on the judge's standard input and output.
//!
//! The app asks one thing at a time. `Progress` lines may come before the answer; every request ends with exactly
//! one other response.

use ::foreign::Task;
use ::foreign::evolve::EvolveTask;
use ::foreign::traces::Errors;
use model::{Certificate, Digest, Estimate, Fidelity, Job, Judgement, Map, Seconds, Source, Trust, Verdict, Workload};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the app asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "request")]
pub enum Request {
    /// Load a problem; first of all.
    Open {
        /// The problem's folder.
        problem: PathBuf,
        /// Go on without the sandbox where it can't be set up.
        unconfined: bool,
        /// Seed of the judge's coins, for tests; entropy otherwise.
        seed: Option<u64>,
        /// The machine's map, for floors and ceiling checks; without one neither is done.
        map: Option<Box<Map>>,
        /// Which tolerances to derive now; the others are derived when they are needed.
        #[serde(default)]
        ready: Ready,
    },
    /// Judge one candidate. Answer: `Judged`.
    Judge {
        /// The question.
        job: Job,
        /// What a SIGINT does meanwhile.
        #[serde(default)]
        interrupt: Interrupt,
    },
    /// Climb the ladder. Answer: `Climbed`.
    Climb {
        /// The candidate.
        source: Source,
        /// Names of the baselines to beat.
        baselines: Vec<String>,
        /// How long the sustained rung runs.
        sustained: Seconds,
        /// Earlier looks at the held-out slice of this problem.
        looks: u32,
    },
    /// Judge a candidate for a problem in somebody else's format; nothing is opened before. Answer: `Foreign`.
    Foreign {
        /// The question.
        question: Box<Question>,
    },
    /// Let a task's own evaluator score a program; nothing is opened before. Answer: `Evolved`.
    Evolve {
        /// The question.
        question: Box<EvolveQuestion>,
    },
    /// Write the candidate's artefact, built and vetted, to a file. Answer: `Exported`.
    Export {
        /// The candidate.
        source: Source,
        /// Where to.
        library: PathBuf,
        /// Where its header goes.
        header: PathBuf,
    },
}

/// How much of a problem is made ready before the first job. Every tolerance that is derived is held against trivial
/// answers, so that a problem that lets one pass is refused by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ready {
    /// The shortest workload: for one judgement, which may need no other.
    #[default]
    Shortest,
    /// Every declared workload: for a campaign. 0.4 s for the shipped problems.
    Declared,
}

/// What a SIGINT does to a judge that is answering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupt {
    /// It ends the judge: the app keeps what was judged before.
    #[default]
    Ends,
    /// The judge answers with what it has measured by then.
    Answers,
}

/// What the judge answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "response")]
pub enum Response {
    /// The problem is loaded and its oracle built.
    Opened {
        /// What it holds.
        opened: Box<Opened>,
    },
    /// Something for a progress line.
    Progress {
        /// What is going on, in words.
        text: String,
    },
    /// The answer to `Judge`.
    Judged {
        /// The answer.
        judgement: Box<Judgement>,
        /// Whether it was cut short: it holds what was measured until then, and no verdict.
        #[serde(default)]
        is_cut_short: bool,
    },
    /// The answer to `Foreign`.
    Foreign {
        /// The answer.
        answer: Box<Answer>,
    },
    /// The answer to `Evolve`.
    Evolved {
        /// The answer.
        answer: Box<EvolveAnswer>,
    },
    /// The answer to `Climb`.
    Climbed {
        /// The certificate.
        certificate: Box<Certificate>,
    },
    /// The answer to `Export`.
    Exported {
        /// Digest of the library.
        digest: Digest,
    },
    /// What the candidate is to be compared with does not work: nothing is said of the candidate.
    Against {
        /// How.
        verdict: Verdict,
    },
    /// The environment failed: nothing is said of the candidate.
    Error {
        /// What, and what to do about it.
        message: String,
    },
}

/// What a loaded problem holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The problem's name.
    pub problem: String,
    /// Digest of its folder.
    pub digest: Digest,
    /// The declared workloads, shortest first.
    pub workloads: Vec<Workload>,
    /// Layers of the sandbox that are in force, by name.
    pub sandbox: Vec<String>,
    /// Warnings for people: one core, other load, and what to do.
    pub warnings: Vec<String>,
}

/// How a question about somebody else's problem is to be answered.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Terms {
    /// How deep.
    pub fidelity: Fidelity,
    /// Differences of ln time inside +-margin do not matter; of a score, as a share.
    pub margin: f64,
    /// Wall-clock limit of the whole question.
    pub cap: Seconds,
    /// Go on without the sandbox where it can't be set up.
    pub unconfined: bool,
}

/// A question about a problem in somebody else's format.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    /// The problem with its candidate.
    pub task: Task,
    /// How it is to be answered.
    pub terms: Terms,
}

/// Its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// As for any candidate; "against" is the reference unless the task names another base.
    pub judgement: Judgement,
    /// The candidate's largest errors, shape by shape.
    pub errors: Vec<Errors>,
    /// Libraries of the interpreters that ran, with their versions.
    pub libraries: Vec<(String, String)>,
}

/// A question about a program that its task's own evaluator scores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EvolveQuestion {
    /// The task with its candidate.
    pub task: EvolveTask,
    /// How it is to be answered.
    pub terms: Terms,
}

/// Its answer. Higher scores are better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvolveAnswer {
    /// Of the candidate against the initial program.
    pub verdict: Verdict,
    /// The metric that decided.
    pub metric: String,
    /// How much higher the candidate's score is, as a share of the initial program's.
    pub gain: Option<Estimate>,
    /// One gain a pair of evaluations: the raw data.
    pub units: Vec<f64>,
    /// Means of every metric: initial program, candidate.
    pub means: BTreeMap<String, [Option<f64>; 2]>,
    /// Evaluations in all.
    pub evaluations: u32,
    /// What is promised.
    pub trust: Trust,
    /// For people.
    pub remarks: Vec<String>,
    /// By the wall clock.
    pub total: Seconds,
}
