"""ShinkaEvolve, as published on PyPI: its `JobScheduler` for local jobs, which starts the task's evaluator as a process,
watches its limit and reads its results. The tasks are `tasks/shinka_*.py`, in the manner of its examples; the limit is
that of the tutorial's kind of task (one minute).

Not run: proposals, database, novelty judge.
"""

import importlib.metadata
import os

import adapter
import programs

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = "00:01:00"

try:
    from shinka.launch import JobScheduler, LocalJobConfig
    from shinka.launch.local import monitor
except ImportError as error:
    adapter.cannot_run("ShinkaEvolve", "none", f"ImportError: {error}")


def evaluate(order, folder):
    os.environ["ZOO_PROBLEM"] = order["problem"]
    is_c = order["language"] == "c"
    task = os.path.join(HERE, "tasks", f"shinka_{order['language']}.py")
    program = os.path.join(folder, "main.c" if is_c else "main.py")
    with open(program, "w") as file:
        file.write(order["text"] if is_c else programs.experiment(order["text"]))
    scheduler = JobScheduler("local", LocalJobConfig(eval_program_path=task, time=LIMIT))
    results = os.path.join(folder, "results")
    job = scheduler.submit_async(program, results)
    # As the scheduler itself waits for a job, looking more often.
    found = monitor(job, results, poll_interval=0.05, timeout=LIMIT)
    correct, metrics = found.get("correct") or {}, found.get("metrics") or {}
    if not correct.get("correct"):
        said = correct.get("error") or found.get("stderr_log") or "no results"
        return {"verdict": "timed-out" if "timed out" in said else "refused", "says": said}
    return {"verdict": "accepted", "speedup": metrics.get("combined_score"), "says": ""}


if __name__ == "__main__":
    adapter.serve(
        {
            "peer": "ShinkaEvolve",
            "version": f"shinka-evolve {importlib.metadata.version('shinka-evolve')}",
            "part": "JobScheduler (local), with evaluators after its examples fortran_heat_diffusion (C) and circle_packing "
            "(Python, run_shinka_eval)",
        },
        evaluate,
    )
