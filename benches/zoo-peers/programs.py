"""The zoo's candidates as the programs that the peers take: its text unchanged, with the peer's interface around it.

Runs nothing.
"""

import problems

MARKS = ("# EVOLVE-BLOCK-START\n", "# EVOLVE-BLOCK-END\n")


def solver(text):
    """A Python candidate with the fixed part that OpenEvolve's AlgoTune tasks have: `run_solver(problem)`."""
    return marked(text) + SOLVER


def experiment(text):
    """The same with the fixed part that ShinkaEvolve's Python tasks have: an experiment's function, which times itself."""
    return marked(text) + EXPERIMENT


def torch_function(problem, language, text):
    """A module with `run(inputs..., output)` on CPU tensors, as SOL-ExecBench's destination-passing style has it."""
    inputs = ", ".join(name for name, _, _ in problem.of("input", "weight"))
    output = problem.output()[0]
    return f"{entry(problem, language, text)}\n\ndef run({inputs}, {output}):\n    _call({inputs}, {output})\n"


def torch_model(problem, language, text):
    """A module with KernelBench's `ModelNew`."""
    inputs = ", ".join(name for name, _, _ in problem.of("input", "weight"))
    shape = ", ".join(
        f"{like(problem)}.shape[{like_axis(problem)}]" if part == problem.axis else str(problem.constants[part])
        for part in problem.output()[2]
    )
    return f"""{entry(problem, language, text)}

class ModelNew(torch.nn.Module):
    def forward(self, {inputs}):
        out = torch.empty({shape})
        _call({inputs}, out)
        return out
"""


def marked(text):
    return f"{MARKS[0]}{text}\n{MARKS[1]}\n"


def like(problem):
    """The first input, which knows the size."""
    return problem.of("input")[0][0]


def like_axis(problem):
    return problem.of("input")[0][2].index(problem.axis)


def entry(problem, language, text):
    """The candidate, and `_call(inputs..., output)` on CPU tensors."""
    arguments = [name for name, _, _ in problem.of("input", "weight")] + [problem.output()[0]]
    size = f"{like(problem)}.shape[{like_axis(problem)}]"
    if language == "python":
        views = ", ".join(f"{name}.numpy()" for name in arguments)
        return f"""{text}

import torch


def _call({', '.join(arguments)}):
    found = {problem.entry}({views}, {size})
    if found is not None:
        {arguments[-1]}.numpy()[...] = found
"""
    return COMPILED.format(
        source=problems.unit(problem, text).replace("'''", "' ' '"),
        flags=", ".join(repr(flag) for flag in ("-O3", "-march=native")),
        entry=problem.entry,
        arguments=", ".join(arguments),
        body="\n".join(body(problem, size)),
    )


def body(problem, size):
    """Scratch and packed weights are the wrapper's own, and kept, as in any library that a user would write."""
    for name, role, shape in problem.of("packed", "scratch"):
        parts = ", ".join(size if part == problem.axis else str(problem.constants[part]) for part in shape)
        yield f"    {name} = _room('{name}', {parts})"
        if role == "packed":
            packs = ", ".join(f"{n}.data_ptr()" for n, _, _ in problem.of("weight", "packed"))
            yield f"    if _prepare is not None:\n        _prepare({packs}, {size})"
    pointers = ", ".join(f"{name}.data_ptr()" for name, _, _ in problem.arguments)
    yield f"    _entry({pointers}, {size})"


COMPILED = """\
import ctypes
import os
import subprocess
import tempfile

import torch

_SOURCE = r'''
{source}'''

_folder = tempfile.mkdtemp()
_file, _built = os.path.join(_folder, "candidate.c"), os.path.join(_folder, "candidate.so")
with open(_file, "w") as _opened:
    _opened.write(_SOURCE)
subprocess.run(["cc", {flags}, "-fPIC", "-shared", "-o", _built, _file, "-lm"], check=True, timeout=60)
_library = ctypes.CDLL(_built)


def _typed(function):
    function.restype = None
    return lambda *values: function(*[ctypes.c_void_p(v) for v in values[:-1]], ctypes.c_int64(values[-1]))


_entry = _typed(_library.{entry})
_prepare = _typed(_library.{entry}_prepare) if hasattr(_library, "{entry}_prepare") else None
_rooms = {{}}


def _room(name, *shape):
    if name not in _rooms or tuple(_rooms[name].shape) != shape:
        _rooms[name] = torch.empty(shape)
    return _rooms[name]


def _call({arguments}):
{body}
"""

SOLVER = """
import numpy as _np


def run_solver(problem):
    x, gate, weight = problem
    out = _np.empty_like(x)
    found = rms_norm_silu(x, gate, weight, out, x.shape[0])
    return out if found is None else found
"""

EXPERIMENT = """
import time as _time

import numpy as _np


def run_experiment(rows, seed, calls):
    random = _np.random.default_rng(seed)
    x, gate = (random.standard_normal((rows, 4096)).astype(_np.float32) for _ in range(2))
    weight = random.standard_normal(4096).astype(_np.float32)
    out = _np.empty_like(x)
    begun = _time.perf_counter()
    for _ in range(calls):
        found = rms_norm_silu(x, gate, weight, out, rows)
    took = (_time.perf_counter() - begun) / calls
    return (out if found is None else found), took
"""
