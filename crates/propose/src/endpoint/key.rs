//! Keys of services: from the environment or a command, and nowhere else to be seen.
//!
//! Must not print, serialise or compare a key.

use crate::ask::AskError;
use serde::Deserialize;
use std::fmt;
use std::process::Command;
use std::str::FromStr;

/// Where a key is to be had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum KeySource {
    /// The service wants none.
    #[default]
    None,
    /// An environment variable.
    Env(String),
    /// What a shell command prints, such as `pass show openai`.
    Command(String),
}

impl FromStr for KeySource {
    type Err = AskError;

    /// `none`, `env:NAME` or `command:COMMAND`. Never the key itself: it would end in histories and process lists.
    fn from_str(text: &str) -> Result<Self, AskError> {
        match text.split_once(':') {
            None if text == "none" => Ok(Self::None),
            Some(("env", name)) if !name.is_empty() => Ok(Self::Env(name.to_owned())),
            Some(("command", command)) if !command.is_empty() => Ok(Self::Command(command.to_owned())),
            // The text may be a key: it is not repeated.
            _ => Err(unusable("a key is given as env:NAME, command:COMMAND or none, never by itself".to_owned())),
        }
    }
}

impl TryFrom<String> for KeySource {
    type Error = AskError;

    fn try_from(text: String) -> Result<Self, AskError> {
        text.parse()
    }
}

impl KeySource {
    /// Fetches the key.
    ///
    /// # Errors
    /// When the variable isn't set, or the command fails or prints nothing.
    pub fn fetch(&self) -> Result<Key, AskError> {
        let text = match self {
            Self::None => return Ok(Key(String::new())),
            Self::Env(name) => std::env::var(name).map_err(|_| unusable(format!("{name} holds no key: export it")))?,
            Self::Command(command) => printed(command)?,
        };
        let key = text.trim();
        let is_sound = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        let from = if let Self::Env(name) = self { name } else { "the key command" };
        if is_sound {
            Ok(Key(key.to_owned()))
        } else {
            Err(unusable(format!("{from} gives no key in one line of ASCII")))
        }
    }
}

fn printed(command: &str) -> Result<String, AskError> {
    let failed = |how: String| unusable(format!("the key command `{command}` {how}"));
    let output = Command::new("sh").args(["-c", command]).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(format!("failed: {}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(|_| failed("prints something that is no text".to_owned()))
}

fn unusable(what: String) -> AskError {
    AskError::Unusable { what }
}

/// A key. It has no way out but [`Key::expose`].
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// For a header, and nothing else; none for a service without keys.
    pub fn expose(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(self.0.as_str())
    }

    /// A text of the service's without the key, which some repeat in their errors.
    pub fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Key(none)" } else { "Key(hidden)" })
    }
}
