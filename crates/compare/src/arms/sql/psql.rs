//! One `psql` child that lives as long as a session: statements in, times and texts out.

use crate::{CompareError, interrupt};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Ends every answer. psql itself prints nothing like it.
const END: &str = "rooflab-end-of-answer";
/// How often a wait looks up whether it should go on. psql keeps the time, so this costs the measurement nothing.
const LOOK_UP: Duration = Duration::from_millis(50);
/// What a psql without a running statement needs to leave.
const GRACE: Duration = Duration::from_millis(200);

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
        if self.input.write_all(script.as_bytes()).and_then(|()| self.input.flush()).is_err() {
            // It has gone: its last words are still in the pipe.
            let last: Vec<String> = self.lines.iter().collect();
            return Err(gone(&last));
        }
        let end = Duration::try_from_secs_f64(self.limit).ok().and_then(|limit| Instant::now().checked_add(limit));
        let mut lines = Vec::new();
        loop {
            match self.lines.recv_timeout(LOOK_UP) {
                Ok(line) => match line.strip_prefix(END) {
                    None => lines.push(line),
                    Some(status) if status.trim_start().starts_with("true") => {
                        let message = status.trim_start().trim_start_matches("true").trim();
                        return Err(self.refused(message, lines, sql));
                    }
                    Some(_) => return Ok(lines),
                },
                Err(RecvTimeoutError::Timeout) if interrupt::asked() => return Err(CompareError::Interrupted),
                Err(RecvTimeoutError::Timeout) if end.is_some_and(|end| Instant::now() >= end) => {
                    return Err(CompareError::TimedOut { command: short(sql), limit: self.limit });
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(gone(&lines)),
            }
        }
    }

    /// The server's first complaint: those that follow only say that the transaction is over.
    fn refused(&self, last: &str, mut lines: Vec<String>, sql: &str) -> CompareError {
        let mut first = None;
        if last.contains("current transaction is aborted") {
            // Complaints come through another pipe, which may be read later.
            lines.extend(std::iter::from_fn(|| self.lines.recv_timeout(LOOK_UP).ok()));
            first = lines.iter().find_map(|line| Some(line.split_once("ERROR:")?.1.trim().to_owned()));
        }
        let message = first.unwrap_or_else(|| last.to_owned());
        let fix = if message.contains("lock timeout") {
            "; the arms' transactions lock each other out: let each arm have a database of its own"
        } else {
            ""
        };
        CompareError::Sql(format!("{message}, in `{}`{fix}", short(sql)))
    }
}

/// psql has ended. What it said from its first complaint on, in one line.
fn gone(lines: &[String]) -> CompareError {
    let complains = |line: &&String| ["error:", "ERROR:", "FATAL:", "server closed"].iter().any(|w| line.contains(w));
    let spoken: Vec<&str> = lines.iter().skip_while(|line| !complains(line)).map(|line| line.trim()).collect();
    let said = if spoken.is_empty() { "psql ended without a word".to_owned() } else { spoken.join(" ") };
    let fix = "see that `psql CONNECTION` works, with a password in PGPASSFILE";
    CompareError::Sql(format!("{}; {fix}", said.trim_start_matches("psql: error: ")))
}

impl Drop for Session {
    /// Ends the transaction, and the statement that may still run: a server goes on with one whose client was killed.
    fn drop(&mut self) {
        // psql asks the server to cancel what runs when it is interrupted; when nothing runs it is told to leave.
        let _ = self.input.write_all(b"ROLLBACK;\n\\q\n");
        let _ = self.input.flush();
        if self.ends_within(GRACE) {
            return;
        }
        // SAFETY: kill has no memory effects; the process is our child and has not been reaped.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGINT) };
        if self.ends_within(10 * GRACE) {
            return;
        }
        // SAFETY: as above; the group is the child's own.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

impl Session {
    fn ends_within(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
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
