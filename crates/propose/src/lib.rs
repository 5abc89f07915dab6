//! From what measurement knows to a candidate's source, by way of someone who writes code: a language model, a program,
//! a person. Builds the prompt, asks within hard caps, keeps the reply, reads it, applies it.
//!
//! Must not judge, rank or choose what to try: it knows neither the judge nor the campaign. It opens sockets and starts
//! programs, which `search` may not; that is why it is a crate of its own.
//!
//! # Why no client library
//!
//! The two protocols that are spoken here, chat completions and messages, come to four small structs each. The client
//! libraries looked at (`async-openai`, `genai`) bring an async runtime and some 150 crates for them, against 20 with a
//! blocking client, and none of them lets the caller see `Retry-After`, stop a stream at a cap, or keep a reply that was
//! cut. So: `ureq` (blocking, rustls with the system's certificates) and our own structs. One call at a time is what a
//! campaign needs: while a candidate is measured nothing else should run anyway.

pub mod ask;
pub mod bandit;
pub mod budget;
pub mod command;
pub mod endpoint;
pub mod exchange;
pub mod fault;
pub mod mailbox;
pub mod patch;
pub mod prompt;
pub mod record;
pub mod reply;
pub mod roster;

pub use ask::{Ask, AskError, Asked, Ended, Progress, Prompt, Reply, Respondent, Usage, Verbatim};
pub use bandit::{Bandit, Trial};
pub use budget::{Budget, Caps, Exhausted, Money, Price, Spent};
pub use exchange::{Desk, Exchange, Outcome, Question, exchange};
pub use fault::Fault;
pub use patch::{Files, Known};
pub use prompt::{Brief, Templates};
pub use record::{Matching, Record, Replay};
pub use roster::{Roster, Spec};
