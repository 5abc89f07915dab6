"""A library of `attention_prefill_bf16` beside PyTorch's own attention, on one thread, on the same bf16 inputs.

Usage: race.py LIBRARY SEED LENGTH... Prints a line of JSON a length: the seconds of every call, of PyTorch with shared
key/value heads, of PyTorch with heads repeated beforehand, and of the library, in turns whose order a coin decides. Must not
decide who wins.
"""

import ctypes
import json
import random
import sys
import time

import torch

HEADS_Q, HEADS_KV, DIM = 16, 8, 128
# Calls before any that counts, and seconds that the counted ones may take.
WARM, BUDGET, LEAST, MOST = 3, 0.4, 7, 101
# What the answers may differ by, of the reference's root mean square: both round weights to bf16.
APART = 0.03


def arms(library, length, generator):
    q, k, v = (
        torch.randn(1, heads, length, DIM, generator=generator).bfloat16() for heads in (HEADS_Q, HEADS_KV, HEADS_KV)
    )
    repeated = [x.repeat_interleave(HEADS_Q // HEADS_KV, 1) for x in (k, v)]
    out, scratch = torch.empty(HEADS_Q, length, DIM), torch.empty(length, length)
    attention = torch.nn.functional.scaled_dot_product_attention
    pointers = [ctypes.c_void_p(x.data_ptr()) for x in (q, k, v, out, scratch)]
    entry = library.attention_prefill_bf16
    entry.restype = None

    def ours():
        entry(*pointers, ctypes.c_int64(length))
        return out

    return {
        "shared": lambda: attention(q, k, v, is_causal=True, enable_gqa=True)[0],
        "repeated": lambda: attention(q, *repeated, is_causal=True)[0],
        "ours": ours,
    }


def apart(a, b):
    a, b = a.double(), b.double()
    return float((a - b).pow(2).mean().sqrt() / b.pow(2).mean().sqrt())


def timed(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def race(library, length, seed):
    generator = torch.Generator().manual_seed(seed)
    calls = arms(library, length, generator)
    off = apart(calls["ours"](), calls["shared"]())
    if not off < APART:
        sys.exit(f"length {length}: the answers are {off:.3f} apart")
    slowest = sum(max(timed(call) for _ in range(WARM)) for call in calls.values())
    turns = min(MOST, max(LEAST, int(BUDGET / slowest)))
    coin, seconds = random.Random(seed), {name: [] for name in calls}
    for _ in range(turns):
        order = list(calls)
        coin.shuffle(order)
        for name in order:
            seconds[name].append(timed(calls[name]))
    return {"length": length, "apart": off, "seconds": seconds}


if __name__ == "__main__":
    torch.set_num_threads(1)
    library = ctypes.CDLL(sys.argv[1])
    # The matrix unit has to be asked for; PyTorch asks for itself.
    if sys.platform == "linux":
        ctypes.CDLL(None).syscall(158, 0x1023, 18)
    seed = int(sys.argv[2])
    for number, length in enumerate(map(int, sys.argv[3:])):
        print(json.dumps({"seed": seed, "torch": torch.__version__, **race(library, length, 1000 * seed + number)}), flush=True)
