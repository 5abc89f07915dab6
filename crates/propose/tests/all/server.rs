//! A service that answers as it is told, once for each entry: for faults only.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One answer.
#[derive(Clone)]
pub enum Answer {
    /// Status line, headers and body, then the connection is closed.
    Raw(Vec<u8>),
    /// The same, then silence for so long.
    Slow(Vec<u8>, Duration),
    /// The connection is closed at once.
    Hangup,
}

/// A JSON answer with a status and more headers (each `Name: value\r\n`).
pub fn json(status: u16, headers: &str, body: &str) -> Answer {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}"
    );
    Answer::Raw(text.into_bytes())
}

/// A stream of events, each chunk as one; ended, or cut.
pub fn stream(events: &[&str], ended: &str) -> Answer {
    Answer::Raw((head(events) + ended).into_bytes())
}

/// What ends a chunked body.
pub const END: &str = "0\r\n\r\n";

/// A stream that falls silent.
pub fn stalled(events: &[&str], wait: Duration) -> Answer {
    Answer::Slow(head(events).into_bytes(), wait)
}

fn head(events: &[&str]) -> String {
    let mut text =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            .to_owned();
    for event in events {
        let chunk = format!("{event}\n\n");
        write!(text, "{:x}\r\n{chunk}\r\n", chunk.len()).unwrap();
    }
    text
}

/// The service.
pub struct Server {
    /// Its address.
    pub url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts it; it serves until the answers are used up.
    pub fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for answer in answers {
                let Ok((mut peer, _)) = listener.accept() else { return };
                if let Answer::Hangup = answer {
                    continue;
                }
                kept.lock().unwrap().push(request(&mut peer));
                let (bytes, wait) = match answer {
                    Answer::Raw(bytes) => (bytes, Duration::ZERO),
                    Answer::Slow(bytes, wait) => (bytes, wait),
                    Answer::Hangup => unreachable!(),
                };
                // The client may have gone.
                let _ = peer.write_all(&bytes);
                std::thread::sleep(wait);
            }
        });
        Self { url, requests }
    }

    /// What was asked so far, headers and bodies.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Reads a request to the end of its body.
fn request(peer: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let header =
                |line: &str| line.to_lowercase().strip_prefix("content-length:").map(|n| n.trim().parse().unwrap());
            let length: usize = head.lines().find_map(header).unwrap_or(0);
            if body.len() >= length {
                return text;
            }
        }
        match peer.read(&mut buffer) {
            Ok(n @ 1..) => bytes.extend_from_slice(&buffer[..n]),
            _ => return text,
        }
    }
}
