"""A cheat: leaves other inputs for whoever reads them next."""

import numpy as np


def rms_norm_silu(x, gate, weight, out, rows):
    x /= np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(1e-6))
    out[...] = gate / (1.0 + np.exp(-gate)) * (x * weight)
