"""KernelBench, from a checkout of its repository (it is not on PyPI). Its `eval_kernel_against_ref` asserts CUDA, so the parts
that need none are run: `validate_kernel_static` with its strict checks (no backend, float32), the loading of both models,
and `run_and_check_correctness` with five trials and its tolerance, on CPU tensors, where waiting for the GPU is nothing to
do. Times are the host's around a call on one set of inputs, after three warm-ups, as its `host_time` has them; what it
would flag as an excessive speed-up (more than 10) is refused.

Its clients of language models stand in as empty modules.
"""

import importlib.machinery
import os
import statistics
import sys
import time
import types

import adapter
import problems
import programs

CHECKOUT = os.environ.get("ROOFLAB_KERNELBENCH", "")
if not os.path.isdir(os.path.join(CHECKOUT, "src/kernelbench")):
    adapter.cannot_run("KernelBench", "none", "not on PyPI: ROOFLAB_KERNELBENCH has to name a checkout of its repository")
sys.path.insert(0, os.path.join(CHECKOUT, "src"))

for client, name in (("openai", "OpenAI"), ("litellm", "completion")):
    module = types.ModuleType(client)
    module.__spec__ = importlib.machinery.ModuleSpec(client, None)
    setattr(module, name, None)
    sys.modules[client] = module

try:
    import torch
    from kernelbench import eval as bench
    from kernelbench.kernel_static_checker import validate_kernel_static
except Exception as error:
    adapter.cannot_run("KernelBench", "none", f"{type(error).__name__}: {error}")

SEED = 42
TRIALS = 5
WARMUPS = 3
TIMED = 30
EXCESSIVE = 10

MODELS = {
    "rms-norm-silu": """\
import torch


class Model(torch.nn.Module):
    def forward(self, x, gate, weight):
        inverse = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
        return gate * torch.sigmoid(gate) * (x * inverse * weight)


def get_inputs():
    return [torch.randn(16, 4096), torch.randn(16, 4096), torch.randn(4096)]


def get_init_inputs():
    return []
""",
    "attention-prefill": """\
import torch


class Model(torch.nn.Module):
    def forward(self, q, k, v):
        groups = q.shape[0] // k.shape[0]
        k, v = k.repeat_interleave(groups, dim=0), v.repeat_interleave(groups, dim=0)
        scores = q @ k.transpose(1, 2) / q.shape[2] ** 0.5
        mask = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v


def get_inputs():
    return [torch.randn(16, 128, 128), torch.randn(8, 128, 128), torch.randn(8, 128, 128)]


def get_init_inputs():
    return []
""",
    "matmul-small-m": """\
import torch


class Model(torch.nn.Module):
    def forward(self, x, w):
        return x @ w


def get_inputs():
    return [torch.randn(1, 1024), torch.randn(1024, 3072) / 32]


def get_init_inputs():
    return []
""",
}


def timed(model, inputs):
    """Milliseconds of a call, the mean of the trials."""
    times = []
    for trial in range(WARMUPS + TIMED):
        begun = time.perf_counter()
        model(*inputs)
        if trial >= WARMUPS:
            times.append(1e3 * (time.perf_counter() - begun))
    return statistics.mean(times)


def evaluate(order, folder):
    torch.set_num_threads(1)
    problem = problems.PROBLEMS[order["problem"]]
    text = programs.torch_model(problem, order["language"], order["text"])
    valid, errors, _ = validate_kernel_static(text, backend="none", precision="fp32")
    if not valid:
        return {"verdict": "refused", "says": f"static: {'; '.join(sorted(errors))}"}
    context = {}
    model, get_init_inputs, get_inputs = bench.load_original_model_and_inputs(MODELS[problem.name.removesuffix("-pool")], context)
    try:
        candidate = bench.load_custom_model(text, context)
    except Exception as error:
        return {"verdict": "refused", "says": f"compilation: {type(error).__name__}: {error}"}
    if candidate is None:
        return {"verdict": "refused", "says": "compilation: no ModelNew"}
    bench.set_seed(SEED)
    reference, candidate = model(*get_init_inputs()), candidate(*get_init_inputs())
    found = bench.run_and_check_correctness(
        reference, candidate, get_inputs, metadata={}, num_correct_trials=TRIALS, seed=SEED, device=torch.device("cpu")
    )
    if not found.correctness:
        said = found.metadata.get("runtime_error") or found.metadata.get("correctness_issue") or "incorrect"
        return {"verdict": "refused", "says": str(said)}
    bench.set_seed(SEED)
    inputs = get_inputs()
    with torch.no_grad():
        took = timed(candidate, inputs)
        base = timed(reference, inputs)
    speedup = base / max(took, 1e-9)
    if speedup > EXCESSIVE:
        return {"verdict": "refused", "speedup": speedup, "says": f"excessive speed-up: {speedup:.1f}"}
    return {"verdict": "accepted", "speedup": speedup, "says": ""}


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.cuda.synchronize = lambda *_, **__: None
    adapter.serve(
        {
            "peer": "KernelBench",
            "version": f"kernelbench at {os.environ.get('ROOFLAB_KERNELBENCH_COMMIT', 'an unknown commit')}, torch "
            f"{torch.__version__}",
            "part": "validate_kernel_static and run_and_check_correctness on CPU tensors; eval_kernel_against_ref asserts CUDA, "
            "so its timing is the host's clock",
        },
        evaluate,
    )
