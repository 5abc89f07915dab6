//! The judge's process: one request a line in, answers out. Nothing else is printed.

use crate::judge::{EnvError, Judge};
use crate::message::{Interrupt, Request, Response};
use crate::sandbox::Confinement;
use crate::{export, foreign, interrupt, ladder};
use std::io::{BufRead, Write};

/// Runs the role until its input ends.
pub fn judge_main() -> ! {
    // A judge without its app has nobody to answer.
    // SAFETY: a plain system call.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    let mut judge = None;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let response = match serde_json::from_str(&line) {
            Ok(request) => answer(&mut judge, request).unwrap_or_else(|error| match error {
                EnvError::Against(verdict) => Response::Against { verdict },
                error => Response::Error { message: error.to_string() },
            }),
            Err(e) => Response::Error { message: format!("not a request: {e}") },
        };
        say(&response);
    }
    // What lies in the file system goes with the judge: folders of the builder, groups, the place of the roles' root.
    drop(judge);
    crate::cgroup::remove();
    crate::root::remove();
    std::process::exit(0)
}

fn answer(judge: &mut Option<Judge>, request: Request) -> Result<Response, EnvError> {
    if let Request::Open { problem, unconfined, seed, map, ready } = request {
        let mut opening = Judge::open(&problem, Confinement::from_flag(unconfined), seed, map.map(|map| *map))?;
        if let Some(before) = judge {
            opening.inherit(before);
        }
        let opened = Box::new(opening.opened(ready)?);
        *judge = Some(opening);
        return Ok(Response::Opened { opened });
    }
    if let Request::Foreign { question } = request {
        return Ok(Response::Foreign { answer: Box::new(foreign::answer(&question)?) });
    }
    if let Request::Evolve { question } = request {
        return Ok(Response::Evolved { answer: Box::new(foreign::evolve::answer(&question)?) });
    }
    let judge = judge.as_mut().ok_or_else(|| EnvError::Job("open a problem first".to_owned()))?;
    match request {
        Request::Open { .. } | Request::Foreign { .. } | Request::Evolve { .. } => unreachable!("answered above"),
        Request::Judge { job, interrupt: means } => {
            if means == Interrupt::Answers {
                interrupt::listen();
            }
            let judgement = Box::new(judge.judge(&job)?);
            let is_cut_short = interrupt::asked();
            Ok(Response::Judged { judgement, is_cut_short })
        }
        Request::Climb { source, baselines, sustained, looks } => {
            let climb = ladder::Climb { source, baselines, sustained, looks };
            let certificate = ladder::climb(judge, &climb, &mut |text| say(&Response::Progress { text: text.into() }))?;
            Ok(Response::Climbed { certificate: Box::new(certificate) })
        }
        Request::Export { source, library, header } => {
            Ok(Response::Exported { digest: export::export(judge, &source, &library, &header)? })
        }
    }
}

/// Writes one line. A pipe that nobody reads ends the judge.
fn say(response: &Response) {
    let mut out = std::io::stdout().lock();
    let line = serde_json::to_string(response).expect("responses are plain data");
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}
