//! Programs that answer, fail, hang and leave others behind.

use super::calm;
use propose::command::Program;
use propose::{Ask, AskError, Asked, Ended, Progress, Prompt, Respondent};
use std::ops::ControlFlow;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn ask(command: &str, limit: Duration) -> Asked {
    calm(limit, |ask| Program::new(command).ask(&Prompt::new("system", "question"), ask))
}

fn text(asked: Asked) -> String {
    String::from_utf8(asked.result.unwrap().text.0).unwrap()
}

#[test]
fn the_prompt_comes_in_and_the_reply_goes_out() {
    assert_eq!(text(ask("cat", LONG)), "system\n\nquestion\n");
    assert_eq!(text(ask("echo a; echo b >&2", LONG)), "a\n");
    // Without reading its input, with more of it than a pipe holds.
    let long = Prompt::new("", "x".repeat(1 << 20));
    let asked = calm(LONG, |ask| Program::new("echo a").ask(&long, ask));
    assert_eq!(text(asked), "a\n");
    assert_eq!(ask("cat", LONG).result.unwrap().ended, Ended::Unsaid);
}

#[test]
fn it_runs_in_an_empty_folder_that_is_gone_afterwards() {
    let place = text(ask("ls -A | wc -l; pwd", LONG));
    let lines: Vec<&str> = place.lines().collect();
    assert_eq!(lines[0].trim(), "0");
    assert!(!std::path::Path::new(lines[1]).exists());
}

#[test]
fn failures_say_how() {
    let check = |command: &str, expected: &str| {
        let error = ask(command, LONG).result.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("echo oh >&2; exit 3", "exited with 3: oh");
    check("kill -9 $$", "was killed by signal 9");
    check("/nowhere/it-is --key secret", "exited with 127");
    let error = ask("/nowhere/it-is --key secret 2>/dev/null", LONG).result.unwrap_err().to_string();
    assert!(error.contains("`command:it-is`") && !error.contains("secret"), "{error}");
}

#[test]
fn the_limit_ends_it() {
    let asked = ask("sleep 1000", Duration::from_millis(100));
    assert!(matches!(asked.result, Err(AskError::TimedOut { .. })));
    // What it said is a reply that was cut.
    let reply = ask("echo part; sleep 1000", Duration::from_secs(2)).result.unwrap();
    assert_eq!((reply.text.0.as_slice(), reply.ended), (b"part\n".as_slice(), Ended::Cut));
}

#[test]
fn someone_can_stop_it() {
    let mut stop = |_: Progress| ControlFlow::Break(());
    let mut conditions = Ask { limit: LONG, max_output: 1, progress: &mut stop };
    let asked = Program::new("sleep 1000").ask(&Prompt::new("", "q"), &mut conditions);
    assert_eq!(asked.result, Err(AskError::Stopped));
}

/// Whether a process is alive, one that nobody has reaped yet aside.
#[cfg(target_os = "linux")]
fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_that_it_started_is_left() {
    let check = |command: &str, limit: Duration| {
        let reply = text(ask(command, limit));
        let pids: Vec<&str> = reply.split_whitespace().collect();
        assert!(!pids.is_empty(), "{command}");
        for pid in pids {
            // A kill takes effect in its own time.
            let gone = (0..200).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                !is_alive(pid)
            });
            assert!(gone, "{command} left {pid}");
        }
    };
    check("sleep 1000 & echo $!", LONG);
    check("sleep 1000 & echo $!; sleep 1000", Duration::from_secs(2));
    // A session of its own, and a parent that is gone.
    check("setsid sh -c 'sleep 1000 & echo $!; echo $$; sleep 1000' & sleep 0.5", LONG);
    check("(setsid sh -c 'trap \"\" TERM HUP; sleep 1000 >/dev/null 2>&1 & echo $!' &) ; sleep 0.5", LONG);
}
