"""A ShinkaEvolve evaluator for the C candidates of a problem, after the project's `examples/fortran_heat_diffusion`: compile,
run the program on cases from fixed seeds, time its whole process, compare the answers that it wrote.

Must not know the zoo.
"""

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import native
from problems import PROBLEMS


def main(program_path, results_dir):
    os.makedirs(results_dir, exist_ok=True)
    found = native.evaluate(program_path, PROBLEMS[os.environ["ZOO_PROBLEM"]])
    error = found.get("error", "")
    score = 0.0 if error else native.speedup(*found["outside"])
    metrics = {"combined_score": score, "public": {"speedup": score}, "private": {}}
    with open(os.path.join(results_dir, "correct.json"), "w") as file:
        json.dump({"correct": not error, "error": error}, file)
    with open(os.path.join(results_dir, "metrics.json"), "w") as file:
        json.dump(metrics, file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", required=True)
    parser.add_argument("--results_dir", required=True)
    asked = parser.parse_args()
    main(asked.program_path, asked.results_dir)
