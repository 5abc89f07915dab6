"""Not a cheat: one row too few."""


def rms_norm_silu(x, gate, weight, out, rows):
    return x[1:] * weight
