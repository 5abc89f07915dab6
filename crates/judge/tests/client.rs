//! The app's end of a judge that fails: every way for the judge's process to end or to lie, what the client says of it,
//! and that nothing is left.
//!
//! The binary plays the failing judge itself (the client starts its own binary), so it has no test harness; it answers
//! a runner's `--list`. Which failure it plays is the name of the problem that it is asked to open.

use judge::client::{JudgeError, JudgeProcess, Opening, ROLE};
use judge::message::{Opened, Ready, Response};
use model::Digest;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// How the judge fails, and what the client's error says.
const ROWS: &[(&str, &str)] = &[
    ("exit-0", "the judge ended without an answer"),
    ("exit-3", "the judge ended without an answer"),
    ("exit-101", "the judge ended without an answer"),
    ("signal-1", "the judge ended without an answer"),
    ("signal-2", "the judge ended without an answer"),
    ("signal-4", "the judge ended without an answer"),
    ("signal-6", "the judge ended without an answer"),
    ("signal-7", "the judge ended without an answer"),
    ("signal-8", "the judge ended without an answer"),
    ("signal-9", "the judge ended without an answer"),
    ("signal-11", "the judge ended without an answer"),
    ("signal-15", "the judge ended without an answer"),
    ("signal-19", "the judge has been silent for"),
    ("closes-its-output", "the judge ended without an answer"),
    ("out-of-memory", "the judge ended without an answer"),
    ("stack-overflow", "the judge ended without an answer"),
    ("half-a-message", "makes no sense"),
    ("not-json", "makes no sense"),
    ("not-text", "stream did not contain valid UTF-8"),
    ("empty-line", "makes no sense"),
    ("another-answer", "makes no sense"),
    ("endless-line", "makes no sense"),
    ("endless-progress", "the judge ended without an answer"),
    ("an-error", "no such problem"),
    ("sleeps", "the judge has been silent for"),
    ("spins", "the judge has been silent for"),
    ("never-reads", "the judge has been silent for"),
];

/// Longer than any of the failures takes, by far, and short enough to wait for.
const SILENCE: Duration = Duration::from_millis(700);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == ROLE) {
        play();
    }
    if arguments.iter().any(|word| word == "--list") {
        if !arguments.iter().any(|word| word == "--ignored") {
            println!("every_end_of_a_judge: test");
        }
        return;
    }
    every_end_of_a_judge();
    println!("test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
}

fn every_end_of_a_judge() {
    let mut wrong = String::new();
    let before = held();
    for (name, expected) in ROWS {
        let opening =
            Opening { problem: Path::new(name), unconfined: false, seed: None, map: None, ready: Ready::default() };
        let begun = Instant::now();
        let said = match JudgeProcess::open_within(&opening, SILENCE, |_| ()) {
            Ok(_) => "opened".to_owned(),
            Err(error) => error.to_string(),
        };
        let short: String = said.chars().take(100).collect();
        println!("{name:20} {:5.2} s  {short}", begun.elapsed().as_secs_f64());
        if !said.contains(expected) {
            let _ = writeln!(wrong, "{name}: expected {expected:?}, got {short:?}");
        }
        if said.len() > 64 << 10 {
            let _ = writeln!(wrong, "{name}: an error of {} bytes", said.len());
        }
        if held() != before {
            let _ = writeln!(wrong, "{name}: left something: {:?} before, {:?} after", before, held());
        }
    }
    // And one that works, so that the table could not pass by failing at everything.
    let opening =
        Opening { problem: Path::new("opens"), unconfined: false, seed: None, map: None, ready: Ready::default() };
    let opened = JudgeProcess::open_within(&opening, SILENCE, |_| ()).map(|(_, opened)| opened.problem);
    assert_eq!(opened.map_err(|error: JudgeError| error.to_string()).as_deref(), Ok("opens"));
    assert_eq!(held(), before);
    assert!(wrong.is_empty(), "{wrong}");
}

/// Our descriptors and our children, zombies too.
fn held() -> (usize, String) {
    let descriptors = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let children = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    (descriptors, children)
}

/// A judge that fails as it is told.
fn play() -> ! {
    let mut line = String::new();
    let opened = |problem: &str| Response::Opened {
        opened: Box::new(Opened {
            problem: problem.to_owned(),
            digest: Digest::of(problem),
            workloads: Vec::new(),
            sandbox: Vec::new(),
            warnings: Vec::new(),
        }),
    };
    // The request is short: a pipe holds it, and who never reads need not.
    let _ = std::io::stdin().lock().read_line(&mut line);
    let request: serde_json::Value = serde_json::from_str(&line).expect("a request");
    let name = request["problem"].as_str().expect("a name").to_owned();
    match name.split_once('-').unwrap_or((&name, "")) {
        ("exit", code) => std::process::exit(code.parse().expect("a code")),
        ("signal", signal) => unsafe {
            // SAFETY: our own process.
            libc::raise(signal.parse().expect("a signal"));
        },
        ("closes", _) => unsafe {
            // SAFETY: nothing is printed any more.
            libc::close(1);
        },
        ("out", _) => unsafe {
            let limit = libc::rlimit { rlim_cur: 64 << 20, rlim_max: 64 << 20 };
            // SAFETY: a plain system call on a local struct.
            libc::setrlimit(libc::RLIMIT_AS, &raw const limit);
            quiet();
            let _ = std::hint::black_box(vec![1_u8; 1 << 30]);
        },
        ("stack", _) => {
            quiet();
            println!("{}", deep(1));
        }
        ("half", _) => say(b"{\"response\":\"opened\",\"opened\":{\"prob", false),
        ("not", "json") => say(b"opened", true),
        ("not", _) => say(b"{\"response\":\"\xff\xfe\"}", true),
        ("empty", _) => say(b"", true),
        ("another", _) => say(b"{\"response\":\"exported\",\"digest\":\"00\"}", true),
        ("endless", "line") => endless(b"{\"response\":\"progress\",\"text\":\"", b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("endless", _) => {
            for _ in 0..100_000 {
                say(b"{\"response\":\"progress\",\"text\":\"on\"}", true);
            }
        }
        ("an", _) => say(b"{\"response\":\"error\",\"message\":\"no such problem\"}", true),
        ("spins", _) => loop {
            std::hint::spin_loop();
        },
        ("sleeps" | "never", _) => std::thread::sleep(Duration::from_secs(3600)),
        _ => {
            say(serde_json::to_string(&opened(&name)).expect("plain data").as_bytes(), true);
            let _ = std::io::stdin().lock().read_line(&mut line);
        }
    }
    if name.starts_with("closes") {
        std::thread::sleep(Duration::from_secs(3600));
    }
    std::process::exit(0)
}

fn say(bytes: &[u8], ends: bool) {
    let mut out = std::io::stdout().lock();
    let sent = out.write_all(bytes).and_then(|()| if ends { out.write_all(b"\n") } else { Ok(()) });
    if sent.and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// A line without end: gigabytes, until nobody reads any more.
fn endless(begin: &[u8], again: &[u8]) -> ! {
    say(begin, false);
    let much = again.repeat(4096);
    loop {
        say(&much, false);
    }
}

/// No message on the test's own standard error.
fn quiet() {
    // SAFETY: nothing of ours is printed there afterwards.
    unsafe {
        libc::close(2);
    }
}

#[expect(unconditional_recursion, reason = "the stack has to overflow")]
fn deep(n: u64) -> u64 {
    let field = std::hint::black_box([n; 512]);
    deep(n + 1) + field[511]
}
