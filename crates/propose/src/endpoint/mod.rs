//! Language models behind HTTP: one call, streamed, asked again while the service is overloaded.
//!
//! Must not follow redirects (a key would travel with them), keep a key anywhere but in a header, or retry what may have
//! been charged for.

mod anthropic;
mod key;
mod openai;
mod retry;
mod stream;

use crate::ask::{Ask, AskError, Asked, Counted, Ended, Progress, Prompt, Reply, Respondent, Usage, Verbatim};
use model::Seconds;
use serde_json::Value;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stream::{Events, Next};
use ureq::http::{Response, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

pub use key::{Key, KeySource};
pub use retry::Backoff;

/// Bytes of an error's body that are read.
const ERROR_BYTES: u64 = 8 << 10;
/// Characters of an error's message that are kept.
const ERROR_CHARS: usize = 400;
/// A service that doesn't take a connection within this is not there.
const CONNECT: Duration = Duration::from_secs(20);
/// A wait is slept in pieces of this, so that it can be stopped.
const PIECE: Duration = Duration::from_millis(200);

/// Which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Chat completions.
    OpenAi,
    /// Messages.
    Anthropic,
}

/// A model and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The protocol that it speaks.
    pub protocol: Protocol,
    /// Base of the address, such as `https://api.openai.com/v1`; a query is kept.
    pub url: String,
    /// The model's name.
    pub model: String,
    /// None leaves it to the service.
    pub temperature: Option<f64>,
}

impl Target {
    /// Host and port, for messages.
    pub fn place(&self) -> &str {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or_default()
    }

    /// The address of a call: the protocol's path before the query, unless it is there already.
    fn address(&self, path: &str) -> String {
        let (base, query) = self.url.split_once('?').map_or((self.url.as_str(), None), |(b, q)| (b, Some(q)));
        let base = base.trim_end_matches('/');
        let full = if base.ends_with(path) { base.to_owned() } else { format!("{base}/{path}") };
        if let Some(query) = query { format!("{full}?{query}") } else { full }
    }

    fn check(&self) -> Result<(), AskError> {
        let is_http = self.url.starts_with("http://") || self.url.starts_with("https://");
        let is_uri = self.url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty()));
        if !is_http || !is_uri || self.place().contains('@') {
            // It may hold a password: it is not repeated.
            let what = "an address is http://HOST[:PORT]/PATH or https://..., without user and password".to_owned();
            return Err(AskError::Unusable { what });
        }
        Ok(())
    }
}

/// A protocol's words.
trait Dialect {
    fn path(&self) -> &'static str;
    fn headers(&self, target: &Target, key: Option<&str>) -> Vec<(&'static str, String)>;
    fn body(&self, target: &Target, prompt: &Prompt, max_output: u64) -> Value;
    /// Takes the data of one event, or a whole body; an error is the service's, or that it can't be read.
    fn hear(&self, data: &str, heard: &mut Heard) -> Result<(), String>;
}

/// What was heard so far of a reply.
#[derive(Debug, Default)]
struct Heard {
    text: String,
    /// Bytes of thinking that was sent apart.
    thinking: usize,
    ended: Option<Ended>,
    /// Tokens in and out.
    usage: Option<(u64, u64)>,
    model: Option<String>,
    /// The service said that nothing follows.
    done: bool,
}

/// A language model that can be asked.
pub struct Endpoint {
    target: Target,
    key: Key,
    agent: Agent,
    backoff: Backoff,
    name: String,
}

impl Endpoint {
    /// For a model, with its key.
    ///
    /// # Errors
    /// When the address makes no sense.
    pub fn new(target: Target, key: Key, backoff: Backoff) -> Result<Self, AskError> {
        target.check()?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("rooflab/", env!("CARGO_PKG_VERSION")))
            .build();
        let protocol = if target.protocol == Protocol::OpenAi { "openai" } else { "anthropic" };
        let name = format!("{protocol}:{}@{}", target.model, target.place());
        Ok(Self { target, key, agent: config.into(), backoff, name })
    }

    fn dialect(&self) -> &'static dyn Dialect {
        match self.target.protocol {
            Protocol::OpenAi => &openai::OpenAi,
            Protocol::Anthropic => &anthropic::Anthropic,
        }
    }

    fn place(&self) -> String {
        self.target.place().to_owned()
    }

    /// Asks until there is an answer, the tries are over or the limit can't be kept.
    fn answered(&self, prompt: &Prompt, ask: &mut Ask<'_>, end: Instant) -> Result<Reply, AskError> {
        let mut failed = 0;
        loop {
            let timed_out = AskError::TimedOut { limit: Seconds(ask.limit.as_secs_f64()) };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(timed_out);
            }
            let (error, named) = match self.send(prompt, ask.max_output, left) {
                Ok(response) if response.status().is_success() => {
                    let late = |error| if Instant::now() >= end { timed_out } else { error };
                    return self.listen(response, prompt, ask).map_err(late);
                }
                Ok(response) => self.refusal(response),
                Err(error) => (self.unsent(&error, ask.limit), None),
            };
            failed += 1;
            let again = match &error {
                AskError::Status { code, .. } => retry::is_passing(*code),
                error => matches!(error, AskError::Unreachable { .. }),
            };
            let wait = self.backoff.wait(failed, named).filter(|wait| again && Instant::now() + *wait < end);
            sleep(wait.ok_or(error)?, ask)?;
        }
    }

    fn send(&self, prompt: &Prompt, max_output: u64, left: Duration) -> Result<Response<Body>, ureq::Error> {
        let dialect = self.dialect();
        let mut request =
            self.agent.post(self.target.address(dialect.path())).header("content-type", "application/json");
        for (name, value) in dialect.headers(&self.target, self.key.expose()) {
            request = request.header(name, value);
        }
        let body = dialect.body(&self.target, prompt, max_output).to_string();
        request.config().timeout_global(Some(left)).build().send(body.as_bytes())
    }

    /// What an answer that is no success says, and the wait that it names.
    fn refusal(&self, response: Response<Body>) -> (AskError, Option<Duration>) {
        let code = response.status().as_u16();
        let wait = retry::named(|name| response.headers().get(name).and_then(|value| value.to_str().ok()));
        let mut body = Vec::new();
        // What can't be read of an error's words is not missed.
        let _ = response.into_body().into_reader().take(ERROR_BYTES).read_to_end(&mut body);
        let text = String::from_utf8_lossy(&body);
        let said =
            serde_json::from_str::<Value>(&text).map_or_else(|_| text.trim().to_owned(), |value| message(&value));
        (AskError::Status { place: self.place(), code, message: self.short(&said) }, wait)
    }

    fn unsent(&self, error: &ureq::Error, limit: Duration) -> AskError {
        match error {
            // The service may be at work.
            ureq::Error::Timeout(ureq::Timeout::Global | ureq::Timeout::RecvResponse) => {
                AskError::TimedOut { limit: Seconds(limit.as_secs_f64()) }
            }
            error => AskError::Unreachable { place: self.place(), cause: self.short(&error.to_string()) },
        }
    }

    fn listen(&self, response: Response<Body>, prompt: &Prompt, ask: &mut Ask<'_>) -> Result<Reply, AskError> {
        let streams = response.body().mime_type() == Some("text/event-stream");
        let body = response.into_body().into_reader();
        let mut heard = Heard::default();
        let broken = if streams { self.events(body, &mut heard, ask)? } else { self.body(body, &mut heard, ask)? };
        // Something was paid for: a part of a reply is a reply that was cut.
        if heard.text.is_empty() && heard.ended.is_none() {
            let what = broken.unwrap_or_else(|| "it ended before it said anything".to_owned());
            return Err(AskError::Malformed { place: self.place(), what: self.short(&what) });
        }
        // Some never say why they stop; that nothing follows is said all the same.
        let unsaid = if heard.done { Ended::Complete } else { Ended::Cut };
        let ended = if broken.is_some() { Ended::Cut } else { heard.ended.unwrap_or(unsaid) };
        let usage = match heard.usage {
            Some((input, output)) => Usage { input, output, counted: Counted::Told },
            None => Usage::estimated(prompt.bytes(), heard.text.len() + heard.thinking),
        };
        let model = heard.model.unwrap_or_else(|| self.target.model.clone());
        Ok(Reply { text: Verbatim::from(heard.text), ended, usage, model })
    }

    /// Hears a stream to its end; gives what broke it off.
    fn events(&self, body: impl Read, heard: &mut Heard, ask: &mut Ask<'_>) -> Result<Option<String>, AskError> {
        let mut events = Events::new(body);
        while !heard.done {
            match events.read() {
                Next::Data(data) => {
                    if let Err(error) = self.dialect().hear(&data, heard) {
                        return Ok(Some(error));
                    }
                }
                Next::End => break,
                Next::Cut(why) => return Ok(Some(why)),
            }
            ask.tell(Progress { bytes: heard.text.len(), thinking: heard.thinking, waiting: None })?;
        }
        Ok(None)
    }

    /// Hears a body that is no stream.
    fn body(&self, mut body: impl Read, heard: &mut Heard, ask: &mut Ask<'_>) -> Result<Option<String>, AskError> {
        let mut bytes = Vec::new();
        if let Err(error) = body.read_to_end(&mut bytes) {
            return Ok(Some(error.to_string()));
        }
        // A stream under another name, as some proxies send it.
        if ["data:", "event:", ":"].iter().any(|start| bytes.starts_with(start.as_bytes())) {
            return self.events(&bytes[..], heard, ask);
        }
        let malformed = |what: String| AskError::Malformed { place: self.place(), what: self.short(&what) };
        self.dialect().hear(&String::from_utf8_lossy(&bytes), heard).map_err(malformed)?;
        heard.done = true;
        Ok(None)
    }

    /// A text of the service's, short and without the key.
    fn short(&self, text: &str) -> String {
        self.key.redact(text).chars().take(ERROR_CHARS).collect()
    }
}

impl Respondent for Endpoint {
    fn ask(&mut self, prompt: &Prompt, ask: &mut Ask<'_>) -> Asked {
        let begun = Instant::now();
        let result = self.answered(prompt, ask, begun + ask.limit);
        Asked { result, time: Seconds(begun.elapsed().as_secs_f64()) }
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// What an error's JSON says.
fn message(value: &Value) -> String {
    let error = value.get("error").unwrap_or(value);
    let text = error.get("message").or_else(|| value.get("message")).unwrap_or(error);
    text.as_str().map_or_else(|| text.to_string(), str::to_owned)
}

fn sleep(wait: Duration, ask: &mut Ask<'_>) -> Result<(), AskError> {
    let end = Instant::now() + wait;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        ask.tell(Progress { waiting: Some(left), ..Progress::default() })?;
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(PIECE));
    }
}
