//! Tasks that bring their own evaluator.

use crate::rig::{self, Ended, rooflab, seconds};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

const LIMIT: u64 = 240;

const INITIAL: &str = "\
# EVOLVE-BLOCK-START
def guess(n):
    return n
# EVOLVE-BLOCK-END


def run():
    return guess(12)
";

/// Scores nearness to a square, with noise of a percent.
const EVALUATOR: &str = "\
import importlib.util
import random


def load(path):
    spec = importlib.util.spec_from_file_location('program', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def evaluate(path):
    error = abs(load(path).run() - 144) / 144
    return {'combined_score': (1 - error / 2) * random.gauss(1.0, 0.01), 'error': error, 'note': 'x', 'all': [1, 2]}
";

const WRITING_EVALUATOR: &str = "\
import json
import os

from evaluator_part import load


def main(program_path, results_dir):
    value = load(program_path).run()
    with open(os.path.join(results_dir, 'metrics.json'), 'w') as file:
        json.dump({'combined_score': value / 144}, file)
    with open(os.path.join(results_dir, 'correct.json'), 'w') as file:
        json.dump({'correct': value <= 144, 'error': 'too large'}, file)
";

/// A folder that the sandbox's user may read, as a person's is.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("our own folder");
    folder
}

fn task() -> tempfile::TempDir {
    let folder = folder();
    write(folder.path(), "evaluator.py", EVALUATOR);
    write(folder.path(), "initial_program.py", INITIAL);
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("a file of the task");
}

fn judge(folder: &Path, candidate: &str, arguments: &[&str]) -> Ended {
    write(folder, "candidate.py", candidate);
    let mut command = rooflab(["judge", "--json"]);
    command.args(arguments).arg(folder).arg(folder.join("candidate.py"));
    rig::run(&mut command, seconds(LIMIT))
}

fn verdict(ended: &Ended) -> Value {
    ended.expect(0);
    let answer: Value = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}\n{ended}"));
    assert!(answer["remarks"][0].as_str().is_some_and(|text| text.contains("evaluator itself is trusted")), "{answer}");
    answer
}

#[test]
fn scores_are_compared_beyond_their_noise() {
    let _alone = rig::alone();
    let check = |body: &str, expected: &str| {
        let folder = task();
        let answer = verdict(&judge(folder.path(), &INITIAL.replace("return n\n", body), &[]));
        assert_eq!(answer["verdict"]["is"], expected, "{answer}");
        assert_eq!(answer["metric"], "combined_score");
    };
    check("return n * n\n", "better");
    check("return -n\n", "worse");
}

#[test]
fn bad_programs_have_verdicts() {
    let _alone = rig::alone();
    let check = |candidate: &str, expected: &str, part: &str| {
        let folder = task();
        let answer = verdict(&judge(folder.path(), candidate, &["--fixed", "8"]));
        assert_eq!(answer["verdict"]["is"], expected, "{answer}");
        assert!(answer["verdict"].to_string().contains(part), "{answer}");
    };
    check(&INITIAL.replace("return guess(12)", "return 144"), "refused", "outside of the task's EVOLVE-BLOCK");
    check(&INITIAL.replace("return n\n", "return float('nan')\n"), "failed", "no finite number");
    check(&INITIAL.replace("return n\n", "raise ValueError('no')\n"), "failed", "ValueError: no");
    check(&INITIAL.replace("return n\n", "return open('/etc/passwd').read()\n"), "failed", "No such file");
    let socket = "import socket; return len(socket.create_connection(('127.0.0.1', 9)).recv(1))\n";
    check(&INITIAL.replace("return n\n", socket), "failed", "not permitted");
}

#[test]
fn a_folder_that_the_sandboxs_user_may_not_read_is_named_with_the_fix() {
    let folder = task();
    if folder.path().metadata().expect("our own folder").uid() != 0 {
        println!("skipped: only root's roles are another user's");
        return;
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("our own folder");
    let ended = judge(folder.path(), INITIAL, &[]);
    ended.expect(4);
    assert!(super::said(&ended).contains("chmod -R o+rX"), "{ended}");
}

#[test]
fn an_evaluator_that_writes_its_results() {
    let _alone = rig::alone();
    let folder = folder();
    write(folder.path(), "evaluate.py", WRITING_EVALUATOR);
    write(folder.path(), "evaluator_part.py", EVALUATOR);
    write(folder.path(), "initial.py", INITIAL);
    let judged = |body: &str| verdict(&judge(folder.path(), &INITIAL.replace("return n\n", body), &["--fixed", "8"]));
    let better = judged("return n * n\n");
    assert_eq!(better["verdict"]["is"], "better", "{better}");
    let wrong = judged("return n * n * n\n");
    assert!(wrong["verdict"].to_string().contains("too large"), "{wrong}");
}
