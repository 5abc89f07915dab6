"""An OpenEvolve evaluator for the C candidates of a problem, after the project's `examples/rust_adaptive_sort`: compile
with a benchmark program, run it, believe the times that it prints. A wrong result anywhere scores 0.

Must not know the zoo.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from openevolve.evaluation_result import EvaluationResult

import native
from problems import PROBLEMS


def evaluate(program_path):
    found = native.evaluate(program_path, PROBLEMS[os.environ["ZOO_PROBLEM"]])
    if "error" in found:
        return EvaluationResult(metrics={"score": 0.0, "correctness": 0.0}, artifacts={"error": found["error"]})
    score = native.speedup(*found["inside"])
    return EvaluationResult(metrics={"score": score, "correctness": 1.0}, artifacts={})
