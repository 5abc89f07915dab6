"""Honest: it prints as it goes, and warns of an overflow."""

import sys
import warnings

import numpy as np


def rms_norm_silu(x, gate, weight, out, rows):
    print("rows", rows, file=sys.stderr)
    warnings.warn("nobody reads this")
    scale = 1.0 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(1e-6))
    out[...] = gate / (1.0 + np.exp(-gate)) * (x * scale * weight)
    print("done", np.exp(np.float32(1000.0)))
