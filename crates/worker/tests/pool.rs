//! The pool of a runner, from the side of the candidates that use it, honest and other: every index is called once, the
//! threads sit where they were put and under the seal, and none is at work when a batch is done.
//!
//! Two threads beside the calling one, on however few cores: they wait by spinning, so that it takes longer on two.

mod rig;

use rig::Rig;
use std::collections::BTreeSet;
use std::fs;

/// What every candidate begins with: the pool as the generated text declares it, and a way to tell the threads apart.
const TOP: &str = r"
#include <stdint.h>
void (*rooflab_pool)(int64_t, void (*)(void *, int64_t), void *);
static volatile char *home;
static int is_home(void) {
    volatile char here = 0;
    intptr_t distance = &here - home;
    return distance > -(1 << 20) && distance < 1 << 20;
}
static void busy(int turns) {
    for (volatile int i = 0; i < turns; i++) {
    }
}
";

fn main() {
    rig::play("a_pool", a_pool);
}

fn a_pool() {
    every_index_is_called_once_and_not_by_one_thread_alone();
    threads_are_pinned_and_sealed();
    a_task_that_shares_out_work_is_an_ordinary_loop();
    nothing_is_shared_out_for_a_count_of_none();
    a_jump_out_of_a_task_is_waited_for();
    a_system_call_by_a_thread_ends_the_process();
}

/// A runner whose pool has two threads.
fn start(text: &str) -> Rig {
    Rig::start(&format!("{TOP}{text}"), &pool().join(","))
}

/// Two cores that this process may use, or one twice.
fn pool() -> [String; 2] {
    let status = fs::read_to_string("/proc/self/status").expect("our own status");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("Linux says it").trim();
    let ends: Vec<&str> = list.split([',', '-']).collect();
    [ends[0], ends[ends.len() - 1]].map(str::to_owned)
}

fn every_index_is_called_once_and_not_by_one_thread_alone() {
    let mut runner = start(
        r"
static int counts[1000];
static int64_t elsewhere;
static void task(void *context, int64_t i) {
    ++*((int *)context + i);
    if (!is_home()) __atomic_add_fetch(&elsewhere, 1, __ATOMIC_RELAXED);
    busy(20000);
}
void rooflab_entry(void *const *b, const int64_t *s) {
    char here;
    home = &here;
    for (int i = 0; i < 1000; i++) counts[i] = 0;
    rooflab_pool(1000, task, counts);
    int64_t *out = b[0], once = 0;
    for (int i = 0; i < 1000; i++) once += counts[i] == 1;
    out[0] = once;
    out[1] = elsewhere;
}
",
    );
    for _ in 0..10 {
        runner.batch(2);
        assert_eq!(runner.number(0), 1000);
    }
    assert!(runner.number(1) > 0, "the calling thread did all of it");
}

fn threads_are_pinned_and_sealed() {
    let mut runner = start("void rooflab_entry(void *const *b, const int64_t *s) {}\n");
    runner.batch(1);
    let tasks = fs::read_dir(format!("/proc/{}/task", runner.id())).expect("it runs");
    let statuses: Vec<String> = tasks
        .map(|task| fs::read_to_string(task.expect("it runs").path().join("status")).expect("its status"))
        .collect();
    assert_eq!(statuses.len(), 3);
    let value = |status: &String, name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(|line| line.trim().to_owned()).unwrap_or_default()
    };
    for status in &statuses {
        assert_eq!(value(status, "Seccomp"), "2");
        assert_eq!(value(status, "NoNewPrivs"), "1");
    }
    let cores: BTreeSet<String> = statuses.iter().map(|status| value(status, "Cpus_allowed_list")).collect();
    assert!(pool().iter().all(|core| cores.contains(core)), "{cores:?} are not {:?}", pool());
}

fn a_task_that_shares_out_work_is_an_ordinary_loop() {
    let mut runner = start(
        r"
static int64_t calls;
static void inner(void *context, int64_t i) { __atomic_add_fetch(&calls, i + 1, __ATOMIC_RELAXED); }
static void outer(void *context, int64_t i) { rooflab_pool(4, inner, 0); }
void rooflab_entry(void *const *b, const int64_t *s) {
    calls = 0;
    rooflab_pool(100, outer, 0);
    *(int64_t *)b[0] = calls;
}
",
    );
    runner.batch(3);
    assert_eq!(runner.number(0), 1000);
}

fn nothing_is_shared_out_for_a_count_of_none() {
    let mut runner = start(
        r"
static void task(void *context, int64_t i) { ++*(int64_t *)context; }
void rooflab_entry(void *const *b, const int64_t *s) {
    int64_t *out = b[0];
    rooflab_pool(0, task, out + 1);
    rooflab_pool(-5, task, out + 1);
    ++out[0];
}
",
    );
    runner.batch(7);
    assert_eq!([runner.number(0), runner.number(1)], [7, 0]);
}

/// The calling thread leaves its task as soon as another has begun one that takes long, and the entry returns.
fn a_jump_out_of_a_task_is_waited_for() {
    let mut runner = start(
        r"
static void *buffer[5];
static int64_t *out;
static volatile int begun;
static void task(void *context, int64_t i) {
    if (is_home()) {
        while (!begun) {
        }
        __builtin_longjmp(buffer, 1);
    }
    begun = 1;
    busy(20000000);
    __atomic_add_fetch(out, 1, __ATOMIC_SEQ_CST);
}
void rooflab_entry(void *const *b, const int64_t *s) {
    char here;
    home = &here;
    out = b[0];
    begun = 0;
    if (__builtin_setjmp(buffer) == 0) rooflab_pool(3, task, 0);
    out[1]++;
}
",
    );
    for batch in 1..=3 {
        runner.batch(1);
        // One of the three indices was the calling thread's, unless the others were so quick that none was left for it.
        let done = runner.number(0);
        assert!(
            (2 * batch..=3 * batch).contains(&done),
            "{done} tasks were done when {batch} batches were reported so"
        );
        assert_eq!(runner.number(1), batch);
    }
}

fn a_system_call_by_a_thread_ends_the_process() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let mut runner = start(
        r#"
static void task(void *context, int64_t i) {
    long result;
    if (is_home()) busy(100000);
    else __asm__ volatile("syscall" : "=a"(result) : "a"(39) : "rcx", "r11", "memory");
}
void rooflab_entry(void *const *b, const int64_t *s) {
    char here;
    home = &here;
    for (;;) rooflab_pool(100, task, 0);
}
"#,
    );
    runner.order(1);
    let status = runner.end();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGSYS), "{status}");
}
