"""A ShinkaEvolve evaluator for the Python candidates of `rms-norm-silu`: `run_shinka_eval`, as the project's
`examples/circle_packing` uses it, with three runs from fixed seeds, each validated, and the mean speed-up over a baseline
as the score. The times are those that the program's fixed part took.

Must not know the zoo.
"""

import argparse
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np
from shinka.core import run_shinka_eval

from problems import PROBLEMS

PROBLEM = PROBLEMS["rms-norm-silu"]
SIZE = PROBLEM.sizes[0]
RUNS = 3
CALLS = 20


def baseline(x, gate, weight):
    inverse = np.float32(1) / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(1e-6))
    return gate / (np.float32(1) + np.exp(-gate)) * (x * inverse * weight)


class Task:
    """What belongs to one run; the runs follow one another."""

    def __init__(self):
        self.seed = 0
        self.base = []

    def arguments(self, run):
        self.seed = run + 1
        inputs = PROBLEM.draw(SIZE, self.seed).values()
        begun = time.perf_counter()
        for _ in range(CALLS):
            baseline(*inputs)
        self.base.append((time.perf_counter() - begun) / CALLS)
        return {"rows": SIZE, "seed": self.seed, "calls": CALLS}

    def validate(self, result):
        out, _ = result
        if PROBLEM.agrees(np.array(out, dtype=np.float32), PROBLEM.draw(SIZE, self.seed)):
            return True, None
        return False, f"seed {self.seed}: wrong result"

    def aggregate(self, results):
        speedups = [base / max(took, 1e-9) for base, (_, took) in zip(self.base, results)]
        score = float(np.mean(speedups))
        return {"combined_score": score, "public": {"speedup": score}, "private": {}}


def main(program_path, results_dir):
    task = Task()
    run_shinka_eval(
        program_path=program_path,
        results_dir=results_dir,
        experiment_fn_name="run_experiment",
        num_runs=RUNS,
        get_experiment_kwargs=task.arguments,
        validate_fn=task.validate,
        aggregate_metrics_fn=task.aggregate,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", required=True)
    parser.add_argument("--results_dir", required=True)
    asked = parser.parse_args()
    main(asked.program_path, asked.results_dir)
