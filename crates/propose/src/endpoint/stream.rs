//! Server-sent events: the data of each event, out of a body that may be cut anywhere.

use std::io::{BufRead, BufReader, Read};

/// Longest line that is read: a whole reply of a service that doesn't stream is one.
const LONGEST_LINE: u64 = 64 << 20;

/// What is next in a body.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// The data of one event.
    Data(String),
    /// The body ended.
    End,
    /// The body was cut.
    Cut(String),
}

/// Reads events.
pub struct Events<R> {
    body: BufReader<R>,
    data: Vec<String>,
}

impl<R: Read> Events<R> {
    /// Over a body.
    pub fn new(body: R) -> Self {
        Self { body: BufReader::new(body), data: Vec::new() }
    }

    /// The next event that has data; blocks until it is there.
    pub fn read(&mut self) -> Next {
        loop {
            let mut line = Vec::new();
            match (&mut self.body).take(LONGEST_LINE).read_until(b'\n', &mut line) {
                // What follows no empty line is no event by the book, and the last one of some servers.
                Ok(0) => return self.event().map_or(Next::End, Next::Data),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Next::Cut(error.to_string()),
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\n', '\r']);
            if text.is_empty() {
                if let Some(data) = self.event() {
                    return Next::Data(data);
                }
            } else if let Some(data) = text.strip_prefix("data:") {
                self.data.push(data.strip_prefix(' ').unwrap_or(data).to_owned());
            }
            // Other fields, and comments, which keep the connection awake.
        }
    }

    fn event(&mut self) -> Option<String> {
        let data = std::mem::take(&mut self.data);
        (!data.is_empty()).then(|| data.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that fails where it has a NUL.
    struct Body(&'static [u8]);

    impl Read for Body {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.first() {
                Some(0) => Err(std::io::Error::other("cut")),
                Some(byte) => {
                    buffer[0] = *byte;
                    self.0 = &self.0[1..];
                    Ok(1)
                }
                None => Ok(0),
            }
        }
    }

    #[test]
    fn events_are_found_whatever_the_line_ends() {
        let check = |body: &'static str, expected: &[&str]| {
            let mut events = Events::new(Body(body.as_bytes()));
            let mut found = Vec::new();
            loop {
                match events.read() {
                    Next::Data(data) => found.push(data),
                    Next::End => break,
                    Next::Cut(why) => {
                        found.push(format!("cut: {why}"));
                        break;
                    }
                }
            }
            assert_eq!(found, expected, "{body:?}");
        };
        check("", &[]);
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data:a\r\n\r\nevent: x\r\ndata: b\r\n\r\n", &["a", "b"]);
        check(": still here\n\nid: 3\n\ndata: a\ndata: b\n\n", &["a\nb"]);
        check("data: [DONE]", &["[DONE]"]);
        check("data: a\n\ndata: b\0", &["a", "cut: cut"]);
    }
}
