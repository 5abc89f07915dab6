"""What the adapters share: a line of JSON in, one evaluation in a process of its own, a line of JSON out.

Must not judge: a verdict is the peer's, read by the adapter that asked it. Contains nothing either: `cargo xtask bench
zoo-peers` starts an adapter as the first process of its own namespaces, so that whatever a candidate leaves behind can be
ended with it.
"""

import json
import math
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback

# Seconds for one evaluation, over the peers' own limits: what is not done by then hangs its evaluator.
LIMIT = 75.0
# Files that a process may hold; those of the adapter are closed before a candidate runs.
DESCRIPTORS = 4096
# Stands for an infinite speed-up.
ENDLESS = 1e9
# Longest text kept of what a peer says.
SAYS = 160


def serve(about, evaluate):
    """Says what is run here, then answers every order with `evaluate(order, folder)`.

    `about` has `peer`, `version`, `part`, and `reason` where the peer can't run here. An answer has `verdict` (accepted,
    refused, crashed, timed-out), and where there are any `speedup` (time of the reference over that of the candidate, as
    the peer claims it) and `says`.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    orders = os.fdopen(os.dup(0))
    # What a library prints stays out of the answers.
    os.dup2(2, 1)
    answers.write(json.dumps(about) + "\n")
    for line in orders:
        answers.write(json.dumps(answer(json.loads(line), evaluate)) + "\n")


def answer(order, evaluate):
    """One evaluation: forked, so that what the adapter has imported is there and what a candidate breaks is gone."""
    folder = tempfile.mkdtemp(prefix="zoo-")
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        run(order, evaluate, folder)
    in_time, status = wait(child, begun + LIMIT)
    took = time.monotonic() - begun
    end_the_rest(child)
    found = read(folder)
    if found is None:
        verdict = "crashed" if in_time else "timed-out"
        found = {"verdict": verdict, "says": f"the evaluator's process ended with {status}" if in_time else "it hangs"}
    shutil.rmtree(folder, ignore_errors=True)
    if not math.isfinite(found.get("speedup") or 1):
        # A clock that a candidate stopped. JSON has no infinity.
        found["says"] = f"it claims a speed-up of {found['speedup']}"
        found["speedup"] = ENDLESS if found["speedup"] > 0 else None
    if found["verdict"] == "accepted" and (found.get("speedup") or 1) < 1:
        found["verdict"] = "slower"
    found["says"] = short(found.get("says"))
    return {"seconds": round(took, 3), **found}


def run(order, evaluate, folder):
    os.setsid()
    log = os.open(os.path.join(folder, "log"), os.O_WRONLY | os.O_CREAT, 0o600)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, DESCRIPTORS)
    os.chdir(folder)
    # A candidate may replace these.
    write, leave, dumps = os.write, os._exit, json.dumps
    try:
        found = evaluate(order, folder)
    except BaseException as error:  # also SystemExit: a candidate may end its evaluator that way
        traceback.print_exc()
        found = {"verdict": "crashed", "says": f"{type(error).__name__}: {error}"}
    text = dumps(found).encode()
    file = os.open(os.path.join(folder, "answer.json"), os.O_WRONLY | os.O_CREAT, 0o600)
    write(file, text)
    leave(0)


def wait(child, deadline):
    """Whether the child ended in time, and how."""
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return True, f"signal {-code}" if code < 0 else f"code {code}"
        time.sleep(0.005)
    return False, None


def end_the_rest(child):
    """Everything else in these namespaces, where this is their first process; else at least the child's group."""
    try:
        if os.getpid() == 1:
            os.kill(-1, signal.SIGKILL)
        else:
            os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        while os.waitpid(-1, 0):
            pass
    except ChildProcessError:
        pass


def read(folder):
    try:
        with open(os.path.join(folder, "answer.json")) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def short(text):
    """The last line that says anything, without the folders of this machine."""
    lines = [line.strip() for line in str(text or "").splitlines() if line.strip()]
    line = re.sub(r"/[^\s'\":]*/", "", lines[-1]) if lines else ""
    return line[:SAYS]


def cannot_run(peer, version, reason):
    """Answers for a peer that can't run here: nothing is asked of it."""
    serve({"peer": peer, "version": version, "part": "none", "reason": short(reason)}, None)
    sys.exit(0)
