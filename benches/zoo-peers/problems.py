"""rooflab's problems as tasks for the peers: shapes, draws, references, and the C around a candidate. Runs no candidate.

The sizes are small, since evaluators call a candidate up to seventy times; the second size of a problem is there since
the peers' own examples try several shapes. Inputs are standard normal from seeds that the evaluator fixes, as in the
examples of all peers.
"""

import dataclasses
import os

import numpy as np

# Of float32 results, absolute and relative: what KernelBench asks for.
TOLERANCE = 1e-4
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@dataclasses.dataclass(frozen=True)
class Problem:
    """A problem. Arguments are (name, role, shape); a shape names constants and the axis."""

    name: str
    entry: str
    constants: dict
    axis: str
    sizes: tuple
    calls: tuple
    arguments: tuple
    reference: object
    # Whether a candidate may ask for a pool of threads: here that is a loop, as in a library that rooflab exports.
    has_pool: bool = False

    def of(self, *roles):
        return [argument for argument in self.arguments if argument[1] in roles]

    def output(self):
        return self.of("output")[0]

    def shape(self, argument, size):
        return tuple(size if part == self.axis else self.constants[part] for part in argument[2])

    def draw(self, size, seed):
        """Inputs by name. A matrix of weights is scaled so that its products have a variance of 1."""
        random = np.random.default_rng(seed)
        inputs = {}
        for argument in self.of("input", "weight"):
            values = random.standard_normal(self.shape(argument, size)).astype(np.float32)
            if argument[1] == "weight" and values.ndim > 1:
                values /= np.float32(np.sqrt(values.shape[0]))
            inputs[argument[0]] = values
        return inputs

    def expected(self, inputs):
        """The answer, in double precision."""
        return self.reference(**{name: values.astype(np.float64) for name, values in inputs.items()})

    def agrees(self, found, inputs):
        expected = self.expected(inputs)
        return found.shape == expected.shape and bool(np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE))

    def naive(self):
        """The text of the naive baseline."""
        with open(os.path.join(ROOT, "problems", self.name, "baselines/naive.c")) as file:
            return file.read()


def rms_norm_silu(x, gate, weight):
    inverse = 1 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-6)
    return gate / (1 + np.exp(-gate)) * (x * inverse * weight)


def attention_prefill(q, k, v):
    heads, length, dim = q.shape
    k, v = (np.repeat(a, heads // a.shape[0], axis=0) for a in (k, v))
    scores = np.einsum("hid,hjd->hij", q, k) / np.sqrt(dim)
    scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return np.einsum("hij,hjd->hid", weights / weights.sum(axis=2, keepdims=True), v)


def matmul_small_m(x, w):
    return x @ w


NORM = Problem(
    name="rms-norm-silu",
    entry="rms_norm_silu",
    constants={"cols": 4096},
    axis="rows",
    sizes=(16, 48),
    calls=(50, 20),
    arguments=(
        ("x", "input", ("rows", "cols")),
        ("gate", "input", ("rows", "cols")),
        ("weight", "input", ("cols",)),
        ("out", "output", ("rows", "cols")),
    ),
    reference=rms_norm_silu,
)

PROBLEMS = {
    problem.name: problem
    for problem in (
        NORM,
        dataclasses.replace(NORM, name="rms-norm-silu-pool", has_pool=True),
        Problem(
            name="attention-prefill",
            entry="attention_prefill",
            constants={"heads_q": 16, "heads_kv": 8, "dim": 128},
            axis="len",
            sizes=(128, 129),
            calls=(3, 3),
            arguments=(
                ("q", "input", ("heads_q", "len", "dim")),
                ("k", "input", ("heads_kv", "len", "dim")),
                ("v", "input", ("heads_kv", "len", "dim")),
                ("out", "output", ("heads_q", "len", "dim")),
                ("scratch", "scratch", ("len", "len")),
            ),
            reference=attention_prefill,
        ),
        Problem(
            name="matmul-small-m",
            entry="matmul_small_m",
            constants={"k": 1024, "n": 3072},
            axis="m",
            sizes=(1, 4),
            calls=(5, 3),
            arguments=(
                ("x", "input", ("m", "k")),
                ("w", "weight", ("k", "n")),
                ("packed", "packed", ("k", "n")),
                ("y", "output", ("m", "n")),
            ),
            reference=matmul_small_m,
        ),
    )
}


def parameters(problem, arguments, written):
    const = [f"{'' if role in written else 'const '}float *{name}" for name, role, _ in arguments]
    return ", ".join([*const, f"int64_t {problem.axis}"])


def header(problem):
    """What stands before a candidate: the constants as macros, and the prototypes."""
    lines = ["#include <stddef.h>", "#include <stdint.h>"]
    lines += [f"#define {name.upper()} {value}" for name, value in problem.constants.items()]
    if problem.has_pool:
        lines.append(POOL)
    lines.append(f"void {problem.entry}({parameters(problem, problem.arguments, ('output', 'scratch'))});")
    if problem.of("packed"):
        packs = problem.of("weight", "packed")
        lines.append(f"void {problem.entry}_prepare({parameters(problem, packs, ('packed',))});")
    return "\n".join(lines) + "\n"


def unit(problem, text):
    """A candidate as one C file."""
    return f'{header(problem)}#line 1 "candidate.c"\n{text}\n'


def harness(problem):
    """A program around a candidate: reads cases, calls once to warm up, times its calls, writes the last answer.

    Prints the mean seconds of a call, a case each. Memory is not reused between cases.
    """
    def count(argument):
        return " * ".join(f"(size_t){part.upper() if part != problem.axis else part}" for part in argument[2])

    rooms = []
    for argument in problem.arguments:
        name = argument[0]
        rooms.append(f"        float *{name} = room({count(argument)});")
        if argument[1] in ("input", "weight"):
            rooms.append(f"        if (fread({name}, sizeof *{name}, {count(argument)}, in) != {count(argument)}) return 3;")
    names = ", ".join([name for name, _, _ in problem.arguments] + [problem.axis])
    call = f"{problem.entry}({names});"
    prepare, weak = "", ""
    if problem.of("packed"):
        packs = ", ".join([name for name, _, _ in problem.of("weight", "packed")] + [problem.axis])
        weak = f"#pragma weak {problem.entry}_prepare\n"
        prepare = f"        if ({problem.entry}_prepare) {problem.entry}_prepare({packs});\n"
    out = problem.output()
    return HARNESS.format(
        header=header(problem), weak=weak, axis=problem.axis, rooms="\n".join(rooms), prepare=prepare, call=call,
        out=out[0], count=count(out),
    )


POOL = """\
#define ROOFLAB_THREADS 1
typedef void rooflab_task(void *context, int64_t i);
static inline void rooflab_parallel(int64_t count, rooflab_task *task, void *context) {
    for (int64_t i = 0; i < count; i++) task(context, i);
}"""

HARNESS = """\
{header}{weak}#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static float *room(size_t n) {{
    void *memory = 0;
    if (posix_memalign(&memory, 64, n * sizeof(float))) abort();
    return memory;
}}

static double now(void) {{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}}

int main(int argc, char **argv) {{
    if (argc != 3) return 2;
    FILE *in = fopen(argv[1], "rb"), *answers = fopen(argv[2], "wb");
    if (!in || !answers) return 2;
    int64_t head[2];
    const char *comma = "";
    printf("{{\\"seconds\\": [");
    while (fread(head, sizeof head, 1, in) == 1) {{
        const int64_t {axis} = head[0], repeats = head[1];
{rooms}
{prepare}        {call}
        const double begun = now();
        for (int64_t repeat = 0; repeat < repeats; repeat++)
            {call}
        printf("%s%.9g", comma, (now() - begun) / (double)repeats);
        comma = ", ";
        if (fwrite({out}, sizeof *{out}, {count}, answers) != {count}) return 3;
    }}
    printf("]}}\\n");
    return fclose(answers) ? 3 : 0;
}}
"""
