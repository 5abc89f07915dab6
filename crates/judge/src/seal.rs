//! A runner's seal, looked at from outside.
//!
//! Must not take the runner's word for anything.

use model::{Rule, Verdict};

/// The seal as the kernel reports it: the tasks that the judge knows of, on each a seccomp filter and no way to new
/// privileges.
///
/// # Errors
/// The refusal.
pub fn check(pid: i32, expected: usize) -> Result<(), Verdict> {
    let refused = |rule, detail: String| Err(Verdict::Refused { rule, detail });
    let folder = std::fs::read_dir(format!("/proc/{pid}/task"));
    let tasks: Vec<_> = folder.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    if tasks.len() != expected {
        return refused(Rule::ExtraThread, format!("{} threads after load, not {expected}", tasks.len()));
    }
    let ours = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for task in tasks {
        let status = std::fs::read_to_string(task.join("status")).unwrap_or_default();
        let holds = |line: &str| status.lines().any(|have| have.split_whitespace().eq(line.split_whitespace()));
        if !holds("Seccomp: 2") || !holds("NoNewPrivs: 1") {
            return refused(Rule::TamperedRunner, "the seal is not in force".to_owned());
        }
        // A runner puts on two filters: the loader's, then the seal. Kernels before 5.9 don't count them.
        if let (Some(own), Some(its)) = (filters(&ours), filters(&status))
            && its < own + 2
        {
            return refused(Rule::TamperedRunner, format!("{its} filters where {} are due", own + 2));
        }
    }
    Ok(())
}

fn filters(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:")?.trim().parse().ok())
}
