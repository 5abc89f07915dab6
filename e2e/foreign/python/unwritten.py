"""A cheat: an earlier answer may still be in the output."""


def rms_norm_silu(x, gate, weight, out, rows):
    pass
