"""The evaluator that the peers' compiled examples show: compile, run, compare with a reference on fixed inputs, time.

As in OpenEvolve's `examples/rust_adaptive_sort` and ShinkaEvolve's `examples/fortran_heat_diffusion`; the reference stays
out of the candidate's process, which is more than the first of them does. Must not know any peer: the two tasks that use
this put its findings into their peers' own words.
"""

import json
import os
import subprocess
import tempfile
import time

import numpy as np

import problems

COMPILER = ["cc", "-O3", "-march=native"]
# Seconds, as in the Rust example for the compiler; honest programs end within two.
COMPILE_LIMIT = 60
RUN_LIMIT = 10
# Seeds of the cases of a size.
SEEDS = (1, 2)


def evaluate(program_path, problem):
    """Findings: `error` where there is any, else `inside` (mean seconds of a call by case, as the program's own harness
    reads its clock) and `outside` (seconds of the whole process), each for candidate and naive baseline."""
    with open(program_path) as file:
        candidate = file.read()
    try:
        with tempfile.TemporaryDirectory() as folder:
            cases = [(size, calls, seed) for size, calls in zip(problem.sizes, problem.calls) for seed in SEEDS]
            inputs = [problem.draw(size, seed) for size, _, seed in cases]
            write(os.path.join(folder, "cases"), cases, inputs)
            naive = build(folder, "naive", problem, problem.naive())
            built = build(folder, "candidate", problem, candidate)
            base = run(folder, naive)
            found = run(folder, built)
            check(problem, cases, inputs, found["answers"])
            if len(found["inside"]) != len(cases):
                raise Refused("it did not time every case")
            return {"inside": (found["inside"], base["inside"]), "outside": (found["outside"], base["outside"])}
    except subprocess.TimeoutExpired as error:
        return {"error": f"timed out after {error.timeout} seconds"}
    except Refused as error:
        return {"error": str(error)}


class Refused(Exception):
    """What the evaluator has against a candidate."""


def build(folder, name, problem, text):
    source, harness, program = (os.path.join(folder, f"{name}{end}") for end in (".c", "-harness.c", ""))
    with open(source, "w") as file:
        file.write(problems.unit(problem, text))
    with open(harness, "w") as file:
        file.write(problems.harness(problem))
    command = [*COMPILER, "-o", program, source, harness, "-lm"]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=COMPILE_LIMIT, cwd=folder)
    if ended.returncode != 0:
        errors = [line for line in ended.stderr.splitlines() if "error" in line or "multiple definition" in line]
        raise Refused(f"compilation failed: {(errors or ['?'])[0]}")
    return program


def run(folder, program):
    answers = program + "-answers"
    command = [program, os.path.join(folder, "cases"), answers]
    begun = time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=RUN_LIMIT, cwd=folder)
    took = time.perf_counter() - begun
    if ended.returncode != 0:
        raise Refused(f"runtime error: ended with {ended.returncode}")
    # The result is what lies between the first and the last brace, as in the Rust example.
    text = ended.stdout[ended.stdout.find("{"):ended.stdout.rfind("}") + 1]
    try:
        seconds = json.loads(text)["seconds"]
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"failed to parse results: {error}") from error
    return {"answers": answers, "inside": seconds, "outside": took}


def write(path, cases, inputs):
    with open(path, "wb") as file:
        for (size, calls, _), drawn in zip(cases, inputs):
            file.write(np.array([size, calls], np.int64).tobytes())
            for values in drawn.values():
                file.write(values.tobytes())


def check(problem, cases, inputs, path):
    values = np.fromfile(path, np.float32)
    shapes = [problem.shape(problem.output(), size) for size, _, _ in cases]
    if values.size != sum(int(np.prod(shape)) for shape in shapes):
        raise Refused("output length mismatch")
    at = 0
    for shape, drawn, case in zip(shapes, inputs, cases):
        count = int(np.prod(shape))
        if not problem.agrees(values[at:at + count].reshape(shape), drawn):
            raise Refused(f"wrong result for {problem.axis}={case[0]}, seed {case[2]}")
        at += count


def speedup(candidate, base):
    """Geometric mean of base over candidate."""
    candidate, base = (np.atleast_1d(np.asarray(a, float)) for a in (candidate, base))
    return float(np.exp(np.mean(np.log(base) - np.log(np.maximum(candidate, 1e-9)))))
