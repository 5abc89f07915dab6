"""SOL-ExecBench, from a checkout of its repository (it is not on PyPI): its `ProblemPackager` and its evaluation driver,
whole, on CPU tensors, with its default configuration (10 rounds of correctness, 10 warm-ups, 50 timed iterations) and its
default tolerance (0.01 absolute and relative, 99 % of the elements).

What can't exist without a GPU is its clock, CUPTI: `time_runnable` here reads the host's clock around each call instead,
with the driver's own shifting pool of arguments, warm-ups, iterations and median. All its checks for reward hacks run: the
integrity of the driver's functions, lazy outputs, patched CUDA events, threads.
"""

import importlib.machinery
import math
import os
import runpy
import statistics
import sys
import time
import types
from pathlib import Path

import adapter
import problems
import programs

CHECKOUT = os.environ.get("ROOFLAB_SOL_EXECBENCH", "")
if not os.path.isdir(os.path.join(CHECKOUT, "src/sol_execbench")):
    adapter.cannot_run("SOL-ExecBench", "none", "not on PyPI: ROOFLAB_SOL_EXECBENCH has to name a checkout of its repository")
sys.path.insert(0, os.path.join(CHECKOUT, "src"))

try:
    import torch

    try:
        from cupti import cupti  # noqa: F401
    except Exception:
        # Only its clock needs it.
        sys.modules["cupti"] = types.ModuleType("cupti")
        sys.modules["cupti"].__spec__ = importlib.machinery.ModuleSpec("cupti", None)
        sys.modules["cupti"].cupti = types.ModuleType("cupti.cupti")
    import sol_execbench.core.bench.timing as timing
    from sol_execbench.core import BenchmarkConfig, Definition, EvaluationStatus, Solution, Workload
    from sol_execbench.core.bench.io import ShiftingMemoryPoolAllocator
    from sol_execbench.driver.problem_packager import ProblemPackager
except Exception as error:
    adapter.cannot_run("SOL-ExecBench", "none", f"{type(error).__name__}: {error}")


def time_runnable(fn, inputs, outputs, device, warmup=10, rep=100, return_mode="median", methodology="cupti"):
    """As the driver's own, by the host's clock. Milliseconds."""
    pool = ShiftingMemoryPoolAllocator(inputs, outputs, warmup + rep)
    times = []
    for _ in range(warmup + rep):
        arguments = pool.get_unique_args()
        begun = time.perf_counter()
        fn(*arguments)
        times.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(times[warmup:])


REFERENCES = {
    "rms-norm-silu": """\
import torch


@torch.no_grad()
def run(x, gate, weight):
    inverse = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return gate * torch.sigmoid(gate) * (x * inverse * weight)
""",
    "attention-prefill": """\
import torch


@torch.no_grad()
def run(q, k, v):
    groups = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(groups, dim=0), v.repeat_interleave(groups, dim=0)
    scores = q @ k.transpose(1, 2) / q.shape[2] ** 0.5
    mask = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v
""",
    "matmul-small-m": """\
import torch


@torch.no_grad()
def run(x, w):
    return x @ w
""",
}


def definition(problem):
    axes = {name: {"type": "const", "value": value} for name, value in problem.constants.items()}
    axes[problem.axis] = {"type": "var"}
    tensor = lambda argument: {"shape": list(argument[2]), "dtype": "float32"}
    return Definition(
        name=problem.entry,
        op_type=problem.entry,
        axes=axes,
        inputs={argument[0]: tensor(argument) for argument in problem.of("input", "weight")},
        outputs={problem.output()[0]: tensor(problem.output())},
        reference=REFERENCES[problem.name.removesuffix("-pool")],
    )


def workloads(problem):
    inputs = {argument[0]: {"type": "random"} for argument in problem.of("input", "weight")}
    return [Workload(uuid=f"{problem.axis}-{size}", axes={problem.axis: size}, inputs=inputs) for size in problem.sizes]


def solution(problem, order):
    return Solution(
        name="candidate",
        definition=problem.entry,
        author="zoo",
        spec={
            "languages": ["pytorch"],
            "target_hardware": ["LOCAL"],
            "entry_point": "kernel.py::run",
            "dependencies": ["torch"],
            "destination_passing_style": True,
        },
        sources=[{"path": "kernel.py", "content": programs.torch_function(problem, order["language"], order["text"])}],
    )


def drive(command, folder):
    """The driver's process, without another import of PyTorch: this one is a fork already."""
    traces = os.open("traces", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(traces, 1)
    os.chdir(folder)
    sys.argv = [command[1]]
    try:
        runpy.run_path(os.path.join(folder, command[1]), run_name="__main__")
        return ""
    except SystemExit as error:
        return "" if error.code in (None, 0) else f"the driver ended with {error.code}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"


def evaluate(order, folder):
    torch.set_num_threads(1)
    problem = problems.PROBLEMS[order["problem"]]
    staging = os.path.join(folder, "staging")
    packager = ProblemPackager(
        definition(problem), workloads(problem), solution(problem, order), BenchmarkConfig(), Path(staging), True
    )
    said = drive(packager.execute(), staging)
    with open(os.path.join(folder, "traces"), errors="replace") as file:
        traces = packager.convert_stdout_to_traces(file.read())
    return verdict(traces, said, len(problem.sizes))


def verdict(traces, said, wanted):
    for trace in traces:
        evaluation = trace.evaluation
        if evaluation.status != EvaluationStatus.PASSED:
            log = (evaluation.log or "").strip().splitlines()
            first = log[0] if log else ""
            return {"verdict": "refused", "says": f"{evaluation.status.value} {first}"}
    if len(traces) != wanted:
        return {"verdict": "crashed", "says": said or f"{len(traces)} traces of {wanted}"}
    speedups = [trace.evaluation.performance.speedup_factor for trace in traces]
    mean = math.exp(sum(math.log(max(s, 1e-9)) for s in speedups) / len(speedups))
    return {"verdict": "accepted", "speedup": mean, "says": ""}


if __name__ == "__main__":
    timing.time_runnable = time_runnable
    torch.set_num_threads(1)
    adapter.serve(
        {
            "peer": "SOL-ExecBench",
            "version": f"sol-execbench at {os.environ.get('ROOFLAB_SOL_EXECBENCH_COMMIT', 'an unknown commit')}, torch "
            f"{torch.__version__}",
            "part": "ProblemPackager and eval_driver.py on CPU tensors, all its checks; the host's clock for CUPTI",
        },
        evaluate,
    )
