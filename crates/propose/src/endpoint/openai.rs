//! The chat completions protocol, as OpenAI, Azure, vLLM, llama.cpp, Ollama, LM Studio and OpenRouter speak it.

use super::{Dialect, Heard, Target};
use crate::ask::{By, Ended, Prompt};
use serde::Deserialize;
use serde_json::{Value, json};

/// Hosts that take `max_completion_tokens` alone; the others know `max_tokens`, and not all of them the new name.
const NEW_NAME: [&str; 2] = ["api.openai.com", "azure.com"];

/// The protocol.
pub struct OpenAi;

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Tokens>,
    model: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Message>,
    message: Option<Message>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<Content>,
    #[serde(alias = "reasoning")]
    reasoning_content: Option<String>,
}

/// A text, or by some services a list of parts, of which those without text are pictures or thinking.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

impl Content {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

impl Dialect for OpenAi {
    fn path(&self) -> &'static str {
        "chat/completions"
    }

    fn headers(&self, target: &Target, key: Option<&str>) -> Vec<(&'static str, String)> {
        let Some(key) = key else { return Vec::new() };
        if target.place().ends_with("azure.com") {
            vec![("api-key", key.to_owned())]
        } else {
            vec![("authorization", format!("Bearer {key}"))]
        }
    }

    fn body(&self, target: &Target, prompt: &Prompt, max_output: u64) -> Value {
        let system = (!prompt.system.trim().is_empty()).then(|| json!({"role": "system", "content": prompt.system}));
        let turns = prompt.turns.iter().map(|turn| {
            let role = if turn.by == By::User { "user" } else { "assistant" };
            json!({"role": role, "content": turn.text})
        });
        let messages: Vec<Value> = system.into_iter().chain(turns).collect();
        let limit = if NEW_NAME.iter().any(|host| target.place().ends_with(host)) {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        let mut body = json!({
            "model": target.model, "messages": messages, "stream": true, "stream_options": {"include_usage": true},
        });
        body[limit] = max_output.into();
        if let Some(temperature) = target.temperature {
            body["temperature"] = temperature.into();
        }
        body
    }

    fn hear(&self, data: &str, heard: &mut Heard) -> Result<(), String> {
        if data.trim() == "[DONE]" {
            heard.done = true;
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| error.to_string())?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(super::message(&json!({"error": error})));
        }
        if let Some(tokens) = chunk.usage {
            heard.usage = Some((tokens.prompt_tokens, tokens.completion_tokens));
        }
        if let Some(model) = chunk.model.filter(|model| !model.is_empty()) {
            heard.model = Some(model);
        }
        // One choice was asked for.
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(()) };
        if let Some(message) = choice.delta.or(choice.message) {
            heard.text.push_str(&message.content.map(Content::into_text).unwrap_or_default());
            heard.thinking += message.reasoning_content.map_or(0, |text| text.len());
        }
        if let Some(reason) = choice.finish_reason {
            heard.ended = Some(match reason.as_str() {
                "length" => Ended::Length,
                "content_filter" => Ended::Withheld,
                _ => Ended::Complete,
            });
        }
        Ok(())
    }
}
