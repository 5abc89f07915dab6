//! A mailbox that is answered by hand.

use super::calm;
use propose::mailbox::Mailbox;
use propose::{AskError, Ended, Prompt, Respondent};
use std::fs;
use std::path::Path;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

fn prompts(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("prompts")).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_reply_is_taken_when_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut mailbox = Mailbox::open(folder.path()).unwrap();
    let prompt = Prompt::new("s", "question");
    // Nobody answers: the prompt stays.
    let silent = calm(Duration::ZERO, |ask| mailbox.ask(&prompt, ask));
    assert!(matches!(silent.result, Err(AskError::TimedOut { .. })));
    let names = prompts(folder.path());
    assert_eq!(names, [format!("0001-{}.md", prompt.digest().short())]);
    assert_eq!(fs::read_to_string(folder.path().join("prompts").join(&names[0])).unwrap(), prompt.to_text());
    // Answered while nobody waited: taken by the next one who asks the same.
    fs::write(folder.path().join("replies").join(&names[0]), b"caf\xe9\r\n").unwrap();
    let mut again = Mailbox::open(folder.path()).unwrap();
    let reply = calm(LONG, |ask| again.ask(&prompt, ask)).result.unwrap();
    assert_eq!((reply.text.0.as_slice(), reply.ended), (b"caf\xe9\r\n".as_slice(), Ended::Unsaid));
    assert_eq!(prompts(folder.path()), names, "the same prompt is not written twice");
    // Another prompt is the next one.
    calm(Duration::ZERO, |ask| again.ask(&Prompt::new("s", "other"), ask)).result.unwrap_err();
    assert_eq!(prompts(folder.path()).len(), 2);
    assert!(prompts(folder.path())[1].starts_with("0002-"));
}

#[test]
fn an_empty_reply_is_no_reply_yet() {
    let folder = tempfile::tempdir().unwrap();
    let mut mailbox = Mailbox::open(folder.path()).unwrap();
    let prompt = Prompt::new("s", "question");
    calm(Duration::ZERO, |ask| mailbox.ask(&prompt, ask)).result.unwrap_err();
    let path = folder.path().join("replies").join(&prompts(folder.path())[0]);
    fs::write(&path, "").unwrap();
    let result = calm(Duration::from_millis(500), |ask| mailbox.ask(&prompt, ask)).result;
    assert!(matches!(result, Err(AskError::TimedOut { .. })));
}
