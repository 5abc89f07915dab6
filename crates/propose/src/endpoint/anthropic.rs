//! Anthropic's messages protocol.

use super::{Dialect, Heard, Target};
use crate::ask::{By, Ended, Prompt};
use serde::Deserialize;
use serde_json::{Value, json};

/// Version of the protocol.
const VERSION: &str = "2023-06-01";

/// The protocol.
pub struct Anthropic;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
enum Event {
    /// A whole reply, from a proxy that doesn't stream; in a stream it is the `message` of `message_start`.
    Message(Message),
    MessageStart {
        message: Message,
    },
    ContentBlockDelta {
        delta: Delta,
    },
    MessageDelta {
        delta: Stop,
        usage: Option<Tokens>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Message {
    model: Option<String>,
    #[serde(default)]
    content: Vec<Delta>,
    stop_reason: Option<String>,
    usage: Option<Tokens>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta {
    text: String,
    thinking: String,
}

#[derive(Deserialize)]
struct Stop {
    stop_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    #[serde(rename = "input_tokens")]
    input: u64,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_written: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: u64,
}

impl Dialect for Anthropic {
    fn path(&self) -> &'static str {
        "messages"
    }

    fn headers(&self, _target: &Target, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-api-key", key.to_owned()));
        key.into_iter().chain([("anthropic-version", VERSION.to_owned())]).collect()
    }

    fn body(&self, target: &Target, prompt: &Prompt, max_output: u64) -> Value {
        let turns = prompt.turns.iter().map(|turn| {
            let role = if turn.by == By::User { "user" } else { "assistant" };
            json!({"role": role, "content": turn.text})
        });
        let messages: Vec<Value> = turns.collect();
        let mut body = json!({"model": target.model, "messages": messages, "stream": true, "max_tokens": max_output});
        if !prompt.system.trim().is_empty() {
            body["system"] = prompt.system.as_str().into();
        }
        if let Some(temperature) = target.temperature {
            body["temperature"] = temperature.into();
        }
        body
    }

    fn hear(&self, data: &str, heard: &mut Heard) -> Result<(), String> {
        match serde_json::from_str(data).map_err(|error| error.to_string())? {
            Event::Message(message) => {
                take(message, heard);
                heard.done = true;
            }
            Event::MessageStart { message } => take(message, heard),
            Event::ContentBlockDelta { delta } => say(&delta, heard),
            Event::MessageDelta { delta, usage } => {
                stop(delta.stop_reason.as_deref(), heard);
                count(usage, heard);
            }
            Event::MessageStop => heard.done = true,
            Event::Error { error } => return Err(super::message(&json!({"error": error}))),
            Event::Other => {}
        }
        Ok(())
    }
}

fn take(message: Message, heard: &mut Heard) {
    heard.model = message.model;
    message.content.iter().for_each(|delta| say(delta, heard));
    stop(message.stop_reason.as_deref(), heard);
    count(message.usage, heard);
}

fn say(delta: &Delta, heard: &mut Heard) {
    heard.text.push_str(&delta.text);
    heard.thinking += delta.thinking.len();
}

fn stop(reason: Option<&str>, heard: &mut Heard) {
    heard.ended = match reason {
        None => heard.ended,
        Some("max_tokens" | "model_context_window_exceeded") => Some(Ended::Length),
        Some("refusal") => Some(Ended::Withheld),
        Some(_) => Some(Ended::Complete),
    };
}

/// Counts are cumulative: the last ones hold. Those of the prompt come with the first event, and at times again.
fn count(tokens: Option<Tokens>, heard: &mut Heard) {
    let Some(tokens) = tokens else { return };
    let cached = tokens.cache_written.unwrap_or(0) + tokens.cache_read.unwrap_or(0);
    let (input, output) = heard.usage.unwrap_or_default();
    heard.usage = Some((input.max(tokens.input + cached), output.max(tokens.output)));
}
