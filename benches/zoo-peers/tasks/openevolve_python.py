"""An OpenEvolve evaluator for the Python candidates of `rms-norm-silu`, after the project's `examples/algotune`: the program
is imported, and on each of five problems from fixed seeds it is warmed up once and timed three times against a baseline;
the first timed result is validated, and the score is the mean speed-up of the least times.

Stricter than the example in one point: a problem that fails makes the score 0, where the example leaves it out of the
mean. Must not know the zoo.
"""

import concurrent.futures
import importlib.util
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np
from openevolve.evaluation_result import EvaluationResult

from problems import PROBLEMS

PROBLEM = PROBLEMS["rms-norm-silu"]
TRIALS = 5
RUNS = 3
WARMUPS = 1
# Seconds of a call; the example has 30.
LIMIT = 10


def baseline(problem):
    x, gate, weight = problem
    inverse = np.float32(1) / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(1e-6))
    return gate / (np.float32(1) + np.exp(-gate)) * (x * inverse * weight)


def with_limit(function, problem):
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(function, problem).result(timeout=LIMIT)


def measure(function, problem):
    """The least time, and the first timed result."""
    for _ in range(WARMUPS):
        try:
            with_limit(function, problem)
        except Exception:
            pass  # as in the example, a warm-up may fail
    times, results = [], []
    for _ in range(RUNS):
        begun = time.perf_counter()
        results.append(with_limit(function, problem))
        times.append(time.perf_counter() - begun)
    return min(times), results[0]


def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(program)
        speedups = [trial(program, seed) for seed in range(TRIALS)]
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return EvaluationResult(metrics={"speedup_score": 0.0, "correctness_score": 0.0}, artifacts={"error": said})
    score = float(np.mean(speedups))
    return EvaluationResult(metrics={"speedup_score": score, "correctness_score": 1.0}, artifacts={})


def trial(program, seed):
    inputs = PROBLEM.draw(PROBLEM.sizes[0], seed)
    base, _ = measure(baseline, tuple(inputs.values()))
    evolved, result = measure(program.run_solver, tuple(inputs.values()))
    if not PROBLEM.agrees(np.array(result, dtype=np.float32), inputs):
        raise ValueError(f"trial {seed}: not a solution")
    return base / evolved if evolved > 0 else float("inf")
