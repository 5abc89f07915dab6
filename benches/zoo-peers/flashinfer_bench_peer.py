"""FlashInfer-Bench, as published on PyPI: asked whether its runner, which every evaluation goes through, starts here. It
evaluates on CUDA devices alone (its baselines, its correctness check and its clock all wait for one), so that without one
there is nothing of it to run; SOL-ExecBench's driver, which descends from it, is asked instead.
"""

import importlib.metadata

import adapter

NAME = "FlashInfer-Bench"

try:
    VERSION = f"flashinfer-bench {importlib.metadata.version('flashinfer-bench')}"
    from flashinfer_bench.bench.runner.isolated_runner import IsolatedRunner

    IsolatedRunner("/tmp")
    adapter.cannot_run(NAME, VERSION, "there is a CUDA device, and no task for one yet")
except importlib.metadata.PackageNotFoundError:
    adapter.cannot_run(NAME, "none", "flashinfer-bench is not installed")
except Exception as error:
    adapter.cannot_run(NAME, VERSION, f"{type(error).__name__}: {error}")
