"""A cheat: a file of the machine, before the first call."""

SECRET = open("/etc/passwd").read()


def rms_norm_silu(x, gate, weight, out, rows):
    out[...] = len(SECRET)
