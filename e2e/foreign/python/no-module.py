"""Not a cheat: a module that isn't installed."""

import a_module_that_nobody_has


def rms_norm_silu(x, gate, weight, out, rows):
    a_module_that_nobody_has.norm(x, gate, weight, out)
