"""The control that is wrong: no gate."""

import numpy as np


def rms_norm_silu(x, gate, weight, out, rows):
    scale = 1.0 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(1e-6))
    out[...] = x * scale * weight
