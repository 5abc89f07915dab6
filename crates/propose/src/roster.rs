//! Whom to ask, as users write it: one respondent on the command line, or several in a file.

use crate::ask::{AskError, Respondent};
use crate::budget::Price;
use crate::command::Program;
use crate::endpoint::{Backoff, Endpoint, KeySource, Protocol, Target};
use crate::mailbox::Mailbox;
use crate::record::{Matching, Replay};
use serde::Deserialize;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Where models of these names are when no address is given.
const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com/v1";
/// Tokens of a reply at most: the longest candidates shipped have some 6,000, and thinking counts.
const MAX_OUTPUT: u64 = 16_384;
/// A call may take this long.
const LIMIT: Duration = Duration::from_secs(600);
/// A person may take this long.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// One respondent, as `openai:MODEL@URL`, `anthropic:MODEL`, `command:COMMAND`, `mailbox:FOLDER`, `replay:FILE`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Spec {
    /// A model that speaks the chat completions protocol.
    OpenAi {
        /// Its name.
        model: String,
        /// Base of the address.
        url: String,
    },
    /// A model that speaks Anthropic's protocol.
    Anthropic {
        /// Its name.
        model: String,
        /// Base of the address.
        url: String,
    },
    /// A program.
    Command(String),
    /// A folder.
    Mailbox(PathBuf),
    /// A record.
    Replay(PathBuf),
}

impl FromStr for Spec {
    type Err = AskError;

    fn from_str(text: &str) -> Result<Self, AskError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            _ if rest.trim().is_empty() => Err(unusable(text)),
            "openai" => {
                let (model, url) = located(rest, OPENAI)?;
                Ok(Self::OpenAi { model, url })
            }
            "anthropic" => {
                let (model, url) = located(rest, ANTHROPIC)?;
                Ok(Self::Anthropic { model, url })
            }
            "command" => Ok(Self::Command(rest.to_owned())),
            "mailbox" => Ok(Self::Mailbox(rest.into())),
            "replay" => Ok(Self::Replay(rest.into())),
            _ => Err(unusable(text)),
        }
    }
}

/// `MODEL` or `MODEL@URL`; an address that is a host alone gets the path that nearly all services use.
fn located(text: &str, default: &str) -> Result<(String, String), AskError> {
    let at = text.find("@http://").or_else(|| text.find("@https://"));
    let (model, url) = at.map_or((text, default), |at| (&text[..at], &text[at + 1..]));
    let bare = url.split_once("://").is_some_and(|(_, rest)| !rest.trim_end_matches('/').contains(['/', '?']));
    let url = if bare { format!("{}/v1", url.trim_end_matches('/')) } else { url.to_owned() };
    let is_name = !model.is_empty() && !model.contains(char::is_whitespace) && (at.is_some() || !model.contains('@'));
    if is_name { Ok((model.to_owned(), url)) } else { Err(unusable(text)) }
}

fn unusable(text: &str) -> AskError {
    let forms = "openai:MODEL[@URL], anthropic:MODEL[@URL], command:COMMAND, mailbox:FOLDER, replay:FILE";
    AskError::Unusable { what: format!("`{text}` is no respondent; one of {forms}, URL with http:// or https://") }
}

impl TryFrom<String> for Spec {
    type Error = AskError;

    fn try_from(text: String) -> Result<Self, AskError> {
        text.parse()
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenAi { model, url } => write!(f, "openai:{model}@{url}"),
            Self::Anthropic { model, url } => write!(f, "anthropic:{model}@{url}"),
            Self::Command(command) => write!(f, "command:{command}"),
            Self::Mailbox(folder) => write!(f, "mailbox:{}", folder.display()),
            Self::Replay(file) => write!(f, "replay:{}", file.display()),
        }
    }
}

/// One respondent with all that can be said about it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Whom.
    pub ask: Spec,
    /// Where its key is; by default in the variable that the service's own tools use, and none for another address.
    pub key: Option<KeySource>,
    /// None leaves it to the service.
    pub temperature: Option<f64>,
    /// A template in place of `system.txt`.
    pub system: Option<String>,
    /// What tokens cost; nothing by default, which is right for what runs on one's own machine.
    #[serde(default)]
    pub price: Price,
    /// Tokens of a reply at most.
    pub max_output: Option<u64>,
    /// Seconds that a call may take.
    pub limit_seconds: Option<f64>,
}

impl Member {
    /// With everything else by default.
    pub fn new(ask: Spec) -> Self {
        Self {
            ask,
            key: None,
            temperature: None,
            system: None,
            price: Price::default(),
            max_output: None,
            limit_seconds: None,
        }
    }

    /// Tokens of a reply at most.
    pub fn max_output(&self) -> u64 {
        self.max_output.unwrap_or(MAX_OUTPUT)
    }

    /// Wall-clock limit of a call.
    pub fn limit(&self) -> Duration {
        let default = if matches!(self.ask, Spec::Mailbox(_)) { PATIENCE } else { LIMIT };
        self.limit_seconds.and_then(|limit| Duration::try_from_secs_f64(limit).ok()).unwrap_or(default)
    }

    /// Makes it ready to be asked.
    ///
    /// # Errors
    /// When its key, address, folder or file can't be used.
    pub fn open(&self) -> Result<Box<dyn Respondent>, AskError> {
        match &self.ask {
            Spec::OpenAi { model, url } => self.endpoint(Protocol::OpenAi, model, url),
            Spec::Anthropic { model, url } => self.endpoint(Protocol::Anthropic, model, url),
            Spec::Command(command) => Ok(Box::new(Program::new(command))),
            Spec::Mailbox(folder) => Ok(Box::new(Mailbox::open(folder)?)),
            Spec::Replay(file) => Ok(Box::new(Replay::open(file, Matching::Order)?)),
        }
    }

    fn endpoint(&self, protocol: Protocol, model: &str, url: &str) -> Result<Box<dyn Respondent>, AskError> {
        let target = Target { protocol, url: url.to_owned(), model: model.to_owned(), temperature: self.temperature };
        let key = self.key.clone().unwrap_or_else(|| usual_key(&target)).fetch()?;
        Ok(Box::new(Endpoint::new(target, key, Backoff::default())?))
    }
}

/// A service's own variable for its own address: a key is never sent elsewhere unless the user says so.
fn usual_key(target: &Target) -> KeySource {
    let own = |host: &str| target.place() == host && target.url.starts_with("https://");
    if own("api.openai.com") {
        KeySource::Env("OPENAI_API_KEY".to_owned())
    } else if own("api.anthropic.com") {
        KeySource::Env("ANTHROPIC_API_KEY".to_owned())
    } else {
        KeySource::None
    }
}

/// Several respondents: `[[model]]` tables of a TOML file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roster {
    /// Who is on it; at least one.
    #[serde(rename = "model")]
    pub members: Vec<Member>,
}

impl FromStr for Roster {
    type Err = AskError;

    /// Reads the text of a file.
    fn from_str(text: &str) -> Result<Self, AskError> {
        // The error's own words, without the line that it is about: there may be a key in it.
        let wrong = |error: toml::de::Error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            AskError::Unusable { what: format!("the roster, line {line}: {}", error.message()) }
        };
        let roster: Self = toml::from_str(text).map_err(wrong)?;
        if roster.members.is_empty() {
            return Err(AskError::Unusable { what: "the roster names no model".to_owned() });
        }
        Ok(roster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn respondents_are_read_as_they_are_written() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(text.parse::<Spec>().ok().map(|spec| spec.to_string()).as_deref(), expected, "{text}");
        };
        check("openai:gpt-x", Some("openai:gpt-x@https://api.openai.com/v1"));
        check("openai:qwen:7b@http://localhost:11434", Some("openai:qwen:7b@http://localhost:11434/v1"));
        check("openai:a/b@https://h/api/v1", Some("openai:a/b@https://h/api/v1"));
        check("openai:d@https://x.azure.com/openai/d?v=1", Some("openai:d@https://x.azure.com/openai/d?v=1"));
        check("openai:m@localhost:80", None);
        check("openai:@http://h", None);
        check("anthropic:claude-x", Some("anthropic:claude-x@https://api.anthropic.com/v1"));
        check("command:ollama run x", Some("command:ollama run x"));
        check("mailbox:a/b", Some("mailbox:a/b"));
        check("replay:r.jsonl", Some("replay:r.jsonl"));
        check("mailbox:", None);
        check("telnet:x", None);
        check("", None);
    }

    #[test]
    fn a_roster_is_a_file() {
        let roster: Roster = r#"
            [[model]]
            ask = "openai:m@http://127.0.0.1:8080"
            temperature = 0.7
            price = { input = 0.5, output = 1.5 }
            [[model]]
            ask = "anthropic:c"
            key = "command:pass show anthropic"
            system = "You are brief."
            max_output = 100
            limit_seconds = 2.5
        "#
        .parse()
        .unwrap();
        assert_eq!(roster.members[0].price, Price { input: 0.5, output: 1.5 });
        assert_eq!(roster.members[0].limit(), LIMIT);
        assert_eq!(roster.members[1].key, Some(KeySource::Command("pass show anthropic".to_owned())));
        assert_eq!((roster.members[1].max_output(), roster.members[1].limit()), (100, Duration::from_millis(2500)));
        for bad in ["", "model = []", "[[model]]\nask = \"x\"", "[[model]]\nask = \"command:x\"\nkey = \"sk-secret\""] {
            let error = bad.parse::<Roster>().unwrap_err().to_string();
            assert!(!error.contains("sk-secret"), "{error}");
        }
    }

    #[test]
    fn a_key_goes_to_its_own_service_alone() {
        let check = |url: &str, expected: KeySource| {
            let target =
                Target { protocol: Protocol::OpenAi, url: url.to_owned(), model: "m".to_owned(), temperature: None };
            assert_eq!(usual_key(&target), expected, "{url}");
        };
        check("https://api.openai.com/v1", KeySource::Env("OPENAI_API_KEY".to_owned()));
        check("https://api.anthropic.com/v1", KeySource::Env("ANTHROPIC_API_KEY".to_owned()));
        check("http://api.openai.com/v1", KeySource::None);
        check("https://api.openai.com.example.org/v1", KeySource::None);
        check("http://localhost:8080/v1", KeySource::None);
    }
}
