"""Zeros."""

import numpy as np


def rms_norm_silu(x, gate, weight, out, rows):
    out.fill(0)
