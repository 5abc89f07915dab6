"""Times PyTorch's copy_ and bf16 matmul on the device, in alternation, as a witness of a map of the same device.

Writes one JSON object: bytes/s of the copy (read and written), FLOP/s of the product, each round's median.
"""
import json
import sys
import time

import torch

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
N = 8192
BYTES = 4 << 30


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def timed(work, seconds):
    """Medians of windows of at least 20 ms, over so many seconds."""
    work()
    torch.cuda.synchronize()
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    calls, began, times = 1, time.time(), []
    while time.time() - began < seconds or len(times) < 3:
        start.record()
        for _ in range(calls):
            work()
        end.record()
        end.synchronize()
        took = start.elapsed_time(end) * 1e-3
        if took < 0.02:
            calls = max(calls + 1, int(calls * 0.025 / max(took, 1e-5)))
            continue
        times.append(took / calls)
    return median(times)


a = torch.randn(N, N, device="cuda", dtype=torch.bfloat16)
b = torch.randn(N, N, device="cuda", dtype=torch.bfloat16)
c = torch.empty(N, N, device="cuda", dtype=torch.bfloat16)
source = torch.randint(-(2**31), 2**31 - 1, (BYTES // 4,), device="cuda", dtype=torch.int32)
target = torch.empty_like(source)
found = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "copy": [], "matmul": []}
for _ in range(ROUNDS):
    found["copy"].append(2 * BYTES / timed(lambda: target.copy_(source), SECONDS))
    found["matmul"].append(2 * N**3 / timed(lambda: torch.matmul(a, b, out=c), SECONDS))
found["copy_median"], found["matmul_median"] = median(found["copy"]), median(found["matmul"])
print(json.dumps(found))
