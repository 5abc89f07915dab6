"""OpenEvolve, as published on PyPI: its `Evaluator` with `evaluate_program`, which writes the program down, calls the task's
evaluator in its own process and puts a limit on it. The tasks are `tasks/openevolve_*.py`, in the manner of its examples;
`EvaluatorConfig` is that of its compiled example (no cascade, 60 s).

Not run: proposals, database, process pool.
"""

import asyncio
import importlib.metadata
import os

import adapter
import programs

HERE = os.path.dirname(os.path.abspath(__file__))

try:
    from openevolve.config import EvaluatorConfig
    from openevolve.evaluator import Evaluator
except ImportError as error:
    adapter.cannot_run("OpenEvolve", "none", f"ImportError: {error}")


def evaluate(order, folder):
    os.environ["ZOO_PROBLEM"] = order["problem"]
    is_c = order["language"] == "c"
    task = os.path.join(HERE, "tasks", f"openevolve_{order['language']}.py")
    program = order["text"] if is_c else programs.solver(order["text"])
    config = EvaluatorConfig(timeout=60, cascade_evaluation=False)
    evaluator = Evaluator(config, task, suffix=".c" if is_c else ".py")
    # Not asyncio.run, which would wait for a thread that hangs.
    metrics = asyncio.new_event_loop().run_until_complete(evaluator.evaluate_program(program, "zoo"))
    said = (evaluator.get_pending_artifacts("zoo") or {}).get("error", "")
    if metrics.get("timeout"):
        return {"verdict": "timed-out", "says": "timeout"}
    score = metrics.get("score", metrics.get("speedup_score", 0.0))
    if metrics.get("correctness", metrics.get("correctness_score", 0.0)) < 1.0:
        return {"verdict": "timed-out" if "timed out" in said else "refused", "says": said or str(metrics)}
    return {"verdict": "accepted", "speedup": score, "says": ""}


if __name__ == "__main__":
    adapter.serve(
        {
            "peer": "OpenEvolve",
            "version": f"openevolve {importlib.metadata.version('openevolve')}",
            "part": "Evaluator.evaluate_program, with evaluators after its examples rust_adaptive_sort (C) and algotune (Python)",
        },
        evaluate,
    )
