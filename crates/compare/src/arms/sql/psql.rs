//! One `psql` child that lives as long as a session: statements in, times and texts out.

use crate::CompareError;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Ends every answer. psql itself prints nothing like it.
const END: &str = "rooflab-end-of-answer";

pub(super) struct Session {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    limit: f64,
}

impl Session {
    pub(super) fn open(psql: &Path, connection: &str, limit: f64) -> Result<Self, CompareError> {
        let mut child = Command::new(psql)
            // No start-up file, quiet, unaligned, rows only.
            .args(["-X", "-q", "-A", "-t", "-w", "-d", connection])
            // The times are read from psql's own words.
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|cause| CompareError::Start { command: psql.display().to_string(), cause })?;
        let (send, lines) = channel();
        let input = child.stdin.take().expect("stdin is a pipe");
        for pipe in [
            Box::new(child.stdout.take().expect("stdout is a pipe")) as Box<dyn std::io::Read + Send>,
            Box::new(child.stderr.take().expect("stderr is a pipe")),
        ] {
            let send = send.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(pipe).lines();
                lines.map_while(Result::ok).map_while(|line| send.send(line).ok()).for_each(drop);
            });
        }
        // Or the end of both pipes would not be noticed.
        drop(send);
        let mut session = Self { child, input, lines, limit };
        session.ask("SELECT 1")?;
        Ok(session)
    }

    /// The rows of a statement, as text.
    pub(super) fn ask(&mut self, sql: &str) -> Result<String, CompareError> {
        let script = format!("{}\n;\n\\echo {END} :ERROR :LAST_ERROR_MESSAGE\n", ended(sql));
        Ok(self.answer(&script, sql)?.join("\n"))
    }

    /// Seconds of a statement as psql measures them, rows thrown away; of several statements, their sum.
    pub(super) fn timed(&mut self, sql: &str) -> Result<f64, CompareError> {
        let statement = ended(sql);
        let script = format!(
            "\\o /dev/null\n\\timing on\n{statement}\n;\n\\timing off\n\\o\n\\echo {END} :ERROR :LAST_ERROR_MESSAGE\n"
        );
        let lines = self.answer(&script, sql)?;
        let times: Vec<f64> = lines.iter().filter_map(|line| milliseconds(line)).collect();
        if times.is_empty() {
            return Err(CompareError::Sql(format!("psql gave no time for `{}`; is it a statement?", short(sql))));
        }
        Ok(times.iter().sum::<f64>() * 1e-3)
    }

    fn answer(&mut self, script: &str, sql: &str) -> Result<Vec<String>, CompareError> {
        let gone = |lines: &[String]| {
            let said = lines.iter().rev().find(|line| !line.is_empty()).map_or("psql ended", String::as_str);
            CompareError::Sql(said.to_owned())
        };
        if self.input.write_all(script.as_bytes()).and_then(|()| self.input.flush()).is_err() {
            // It has gone: its last words are still in the pipe.
            let last: Vec<String> = self.lines.iter().collect();
            return Err(gone(&last));
        }
        let limit = Duration::try_from_secs_f64(self.limit).unwrap_or(Duration::MAX);
        let mut lines = Vec::new();
        loop {
            match self.lines.recv_timeout(limit) {
                Ok(line) => match line.strip_prefix(END) {
                    None => lines.push(line),
                    Some(status) if status.trim_start().starts_with("true") => {
                        let message = status.trim_start().trim_start_matches("true").trim();
                        return Err(CompareError::Sql(format!("{message}, in `{}`", short(sql))));
                    }
                    Some(_) => return Ok(lines),
                },
                Err(RecvTimeoutError::Timeout) => {
                    return Err(CompareError::TimedOut { command: short(sql), limit: self.limit });
                }
                Err(RecvTimeoutError::Disconnected) => return Err(gone(&lines)),
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The server rolls the transaction back when the client is gone. Asking first ends it at once.
        let _ = self.input.write_all(b"ROLLBACK;\n\\q\n");
        let _ = self.input.flush();
        for _ in 0..100 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // SAFETY: kill has no memory effects; the group is the child's own and it has not been reaped.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

/// Without the semicolon that we add ourselves: an empty statement would be timed too.
fn ended(sql: &str) -> &str {
    sql.trim().trim_end_matches(';').trim_end()
}

fn short(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > 60 { line.chars().take(57).chain("...".chars()).collect() } else { line }
}

/// `Time: 1234.567 ms (00:01.235)`.
fn milliseconds(line: &str) -> Option<f64> {
    line.strip_prefix("Time: ")?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_psql() {
        assert_eq!(milliseconds("Time: 0.123 ms"), Some(0.123));
        assert_eq!(milliseconds("Time: 1234.567 ms (00:01.235)"), Some(1234.567));
        assert_eq!(milliseconds("Timing is on."), None);
        assert_eq!(ended(" SELECT 1;\n"), "SELECT 1");
        assert_eq!(short("SELECT\n  1"), "SELECT 1");
        assert_eq!(short(&"x".repeat(99)).len(), 60);
    }
}
