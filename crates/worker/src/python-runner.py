# The Python runner's inner half: maps its arguments, loads the libraries that the candidate names, seals itself, then
# runs the candidate's text for the first time and serves batches.
#
# Must not read a clock, know an answer, or be believed: after the candidate's first line anything in this process may
# be the candidate's doing. The judge counts filters and tasks from outside before that line, and checks every output
# itself.
#
# Arguments: LAYOUT SEAL PLAN ARGUMENT..., the first and the third JSON, the second a filter in hex or `-`.

import _frozen_importlib, ast, ctypes, gc, importlib, importlib.util, json, linecache, os, random, sys, warnings

LAYOUT, SEAL, PLAN = json.loads(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
ARGUMENTS = sys.argv[4:]
# What honest code uses and a library may import late, when no file can be opened any more.
EARLY = ["math", "cmath", "functools", "itertools", "collections", "operator", "typing", "dataclasses", "time",
         "random", "copy", "re", "string", "numbers", "abc", "enum", "contextlib", "types", "encodings.idna", "struct",
         "array", "bisect", "heapq", "statistics", "fractions", "decimal", "traceback", "threading", "inspect"]
EARLY_NUMPY = ["numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma", "numpy.polynomial", "numpy.lib.stride_tricks"]
EARLY_TORCH = ["torch.nn", "torch.nn.functional", "torch.fft", "torch.linalg", "torch.special"]

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
READ, WRITE, SHARED, PRIVATE, FIXED, ANONYMOUS, NORESERVE, POPULATE = 1, 2, 1, 2, 0x10, 0x20, 0x4000, 0x8000
FAILED = ctypes.c_void_p(-1).value


def mapped(address, length, protection, flags, descriptor):
    at = libc.mmap(address, length, protection, flags, descriptor, 0)
    if at in (None, FAILED):
        raise OSError(ctypes.get_errno(), "mmap")
    return at


PAGE = mapped(None, LAYOUT["page"], READ | WRITE, SHARED, LAYOUT["control"])


def word(name):
    return ctypes.c_uint32.from_address(PAGE + LAYOUT[name])


def end(state, note):
    note = note.encode("utf-8", "replace")[: LAYOUT["note_bytes"] - 1]
    ctypes.memmove(PAGE + LAYOUT["note"], note + b"\0", len(note) + 1)
    word("state").value = LAYOUT[state]
    os._exit(0 if state != "raised" else 1)


def said(error):
    lines = []
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name in FILES:
            lines.append(f"{name}:{trace.tb_lineno}")
        trace = trace.tb_next
    place = f" at {lines[-1]}" if lines else ""
    try:
        text = str(error)
    except BaseException:
        text = ""
    if isinstance(error, ModuleNotFoundError):
        text += f" ({sys.executable} -m pip install it, or name another interpreter in ROOFLAB_PYTHON)"
    return f"{type(error).__name__}: {text}{place}"


class Nowhere:
    """Where print goes: a candidate that prints is honest, and nobody reads it."""

    encoding, errors, closed = "utf-8", "replace", False

    def write(self, text):
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False


class Memory:
    """One argument: its bytes between two guards, and the views of it that were asked for."""

    def __init__(self, index, text, array):
        kind, length = text.split(":")
        length, guard = int(length), LAYOUT["guard"]
        reserved = mapped(None, length + 2 * guard, 0, PRIVATE | ANONYMOUS | NORESERVE, -1)
        protection = READ | WRITE if kind == "w" else READ
        self.base = mapped(
            reserved + guard, length, protection, SHARED | FIXED | POPULATE, LAYOUT["arguments"] + index
        )
        self.writable, self.array, self.views = kind == "w", array, {}

    def view(self, offset):
        view = self.views.get(offset)
        if view is None:
            view = self.views[offset] = self.make(offset)
        return view

    def make(self, offset):
        shape, count = self.array["shape"], 1
        for dimension in shape:
            count *= dimension
        kind = DTYPES[self.array["dtype"]]
        buffer = (ctypes.c_char * (count * self.array["size"])).from_address(self.base + offset)
        if PLAN["framework"] == "torch":
            return torch.frombuffer(buffer, dtype=kind, count=count).reshape(shape)
        view = numpy.frombuffer(buffer, dtype=kind, count=count).reshape(shape)
        view.flags.writeable = self.writable
        return view


def dtypes():
    if PLAN["framework"] == "torch":
        names = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i64": "int64",
                 "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool"}
        return {ours: getattr(torch, theirs) for ours, theirs in names.items()}
    return {ours: numpy.dtype(ours) for ours in ("f4", "f8", "f2", "i8", "i4", "i2", "i1", "u1", "?")} | {
        "f32": numpy.dtype("f4"), "f64": numpy.dtype("f8"), "f16": numpy.dtype("f2"), "i64": numpy.dtype("i8"),
        "i32": numpy.dtype("i4"), "i16": numpy.dtype("i2"), "i8": numpy.dtype("i1"), "u8": numpy.dtype("u1"),
        "bool": numpy.dtype("?")}


def wanted(tree):
    """Modules that a text imports, wherever it does; and parts of packages that it reaches by attribute."""
    names, alias = [], {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                names.append(name.name)
                alias[name.asname or name.name.split(".")[0]] = name.name if name.asname else name.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.append(node.module)
            names.extend(f"{node.module}.{name.name}" for name in node.names if name.name != "*")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in alias:
            names.append(f"{alias[node.value.id]}.{node.attr}")
    return names


def load_early(names):
    """Imports what is installed. What isn't, is the candidate's to explain: it can't be imported after the seal."""
    for name in names:
        if name in sys.modules:
            continue
        try:
            importlib.import_module(name)
        except BaseException:
            continue


class Shelf:
    """Imports among the candidate's own files."""

    @staticmethod
    def is_package(name):
        return any(module.startswith(name + ".") for module in MODULES)

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in MODULES or Shelf.is_package(name):
            return importlib.util.spec_from_loader(name, Shelf)
        return None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        path = MODULES.get(module.__name__)
        if path is None:
            return
        module.__file__ = path
        exec(compile(FILES[path], path, "exec", dont_inherit=True), module.__dict__)


def warm():
    """First uses that read files: a library's kernels by processor. PyTorch's own pool would want threads: it stays unmade."""
    if PLAN["framework"] == "torch":
        # For a device that is not here it would keep the stack as text, and look at the files in it.
        torch.cuda.manual_seed_all = lambda seed: None
        torch.manual_seed(0)
        a = torch.ones(33, 65)
        with torch.no_grad():
            b = torch.nn.functional.linear(a, a)
            for f in (torch.exp, torch.tanh, torch.rsqrt, torch.sigmoid, torch.softmax):
                f(b, -1) if f is torch.softmax else f(b)
            torch.nn.functional.layer_norm(a, (65,))
            a.to(torch.bfloat16).matmul(a.t().to(torch.bfloat16))
            a.double().matmul(a.t().double())
        torch.randn(4)
    if numpy is not None:
        a = numpy.ones((33, 65), numpy.float32)
        a @ a.T, a.astype(float) @ a.T.astype(float), numpy.exp(a), numpy.einsum("ij,kj->ik", a, a)
        numpy.linalg.norm(a), numpy.array2string(a), numpy.random.default_rng(0).random(2)


def seal():
    sys.stdin = sys.stdout = sys.stderr = sys.__stdin__ = sys.__stdout__ = sys.__stderr__ = Nowhere()
    os.closerange(0, 256)
    gc.collect()
    gc.freeze()
    if SEAL == "-":
        return
    program = (ctypes.c_char * (len(SEAL) // 2)).from_buffer_copy(bytes.fromhex(SEAL))

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("program", ctypes.c_void_p)]

    chosen = Filter(len(SEAL) // 16, ctypes.cast(program, ctypes.c_void_p))
    # SECCOMP_SET_MODE_FILTER with SECCOMP_FILTER_FLAG_TSYNC.
    if libc.syscall(ctypes.c_long(LAYOUT["seccomp"]), ctypes.c_long(1), ctypes.c_long(1), ctypes.byref(chosen)) != 0:
        end("sandbox_failed", f"seccomp in the interpreter: errno {ctypes.get_errno()}")


def put(result, outputs):
    """Copies what the candidate returned to where the judge looks, inside the timed call."""
    if isinstance(result, dict):
        result = [result[memory.array["name"]] for memory, _ in outputs]
    elif not isinstance(result, (tuple, list)):
        result = [result]
    if len(result) != len(outputs):
        raise TypeError(f"it returned {len(result)} values for {len(outputs)} outputs")
    for value, (memory, offset) in zip(result, outputs):
        view = memory.view(offset)
        if value is view:
            continue
        if PLAN["framework"] == "torch":
            if not isinstance(value, torch.Tensor):
                value = torch.as_tensor(value)
            if PLAN["strict"] and value.dtype != view.dtype:
                raise TypeError(f"INCORRECT_DTYPE: {value.dtype} for {view.dtype}")
            if tuple(value.shape) != tuple(view.shape):
                raise TypeError(f"INCORRECT_SHAPE: {tuple(value.shape)} for {tuple(view.shape)}")
            view.copy_(value.detach())
        else:
            value = numpy.asarray(value)
            if PLAN["strict"] and value.dtype != view.dtype:
                raise TypeError(f"INCORRECT_DTYPE: {value.dtype} for {view.dtype}")
            if value.shape != view.shape:
                raise TypeError(f"INCORRECT_SHAPE: {value.shape} for {view.shape}")
            numpy.copyto(view, value, casting="same_kind")


def call(function, items, offsets, sizes, outputs):
    arguments = []
    for kind, value in items:
        if kind == "array":
            arguments.append(MEMORIES[value].view(offsets[value]))
        elif kind == "size":
            arguments.append(sizes[value])
        else:
            arguments.append(value)
    result = function(*arguments)
    if result is not None and outputs:
        put(result, [(MEMORIES[i], offsets[i]) for i in outputs])


def reseed(seed):
    """For functions that draw inputs: the judge's secret, another for every call."""
    random.seed(seed)
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)
    if torch is not None:
        torch.manual_seed(seed)


def serve(main):
    function = getattr(main, PLAN["entry"], None)
    if not callable(function):
        end("load_failed", f"{PLAN['main']} defines no function `{PLAN['entry']}`")
    prepare = getattr(main, PLAN["entry"] + "_prepare", None)
    items, outputs, packing = PLAN["call"], PLAN["outputs"], PLAN["prepare"]
    go, done = word("go"), word("done")
    op, calls = word("op"), word("calls")
    sizes = (ctypes.c_int64 * 8).from_address(PAGE + LAYOUT["sizes"])
    rows = LAYOUT["row"] * 8
    last = go.value
    word("state").value = LAYOUT["ready"]
    while True:
        sequence = go.value
        while sequence == last:
            sequence = go.value
        last = sequence
        for i in range(min(calls.value, 256) if op.value != 3 else 0):
            offsets = (ctypes.c_uint64 * LAYOUT["row"]).from_address(PAGE + LAYOUT["offsets"] + i * rows)
            if PLAN["seed"]:
                reseed(sizes[0] + i)
            if op.value == LAYOUT["op_call"]:
                call(function, items, offsets, sizes, outputs)
            elif op.value == LAYOUT["op_prepare"] and prepare is not None:
                call(prepare, packing, offsets, sizes, [])
        done.value = sequence


def read_source():
    # By position: every runner of a candidate shares the descriptor's offset.
    source = LAYOUT["source"]
    return json.loads(os.pread(source, os.fstat(source).st_size, 0))


numpy = torch = None
FILES, MODULES = {}, {}
try:
    warnings.simplefilter("ignore")
    try:
        import numpy
    except ImportError:
        if PLAN["framework"] == "numpy":
            raise
    if numpy is not None:
        numpy.seterr(all="ignore")
    if PLAN["framework"] == "torch":
        import torch
    DTYPES = dtypes()
    MEMORIES = [Memory(i, text, array) for i, (text, array) in enumerate(zip(ARGUMENTS, PLAN["arrays"]))]
    load_early(EARLY + (EARLY_NUMPY if numpy else []) + (EARLY_TORCH if torch else []))
    warm()
except BaseException as error:
    end("sandbox_failed", f"{sys.executable} in the sandbox: {said(error)}")
word("state").value = LAYOUT["reading"]
try:
    FILES = {path: text for path, text in read_source()}
    MODULES = {path[:-3].replace("/", "."): path for path in FILES if path.endswith(".py")}
    MODULES |= {name[: -len(".__init__")]: path for name, path in MODULES.items() if name.endswith(".__init__")}
    names = [name for path, text in FILES.items() if path.endswith(".py") for name in wanted(ast.parse(text, path))]
    load_early(name for name in names if name.split(".")[0] not in MODULES)
    for path, text in FILES.items():
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    for name in MODULES:
        sys.modules.pop(name, None)
    # From here on an import finds the candidate's own files and what is loaded; anything else isn't there, without a look
    # at the disk.
    sys.meta_path[:] = [Shelf, _frozen_importlib.BuiltinImporter, _frozen_importlib.FrozenImporter]
except BaseException as error:
    end("load_failed", said(error))
seal()
word("state").value = LAYOUT["sealed"]
# The judge looks at the seal from outside, and gives leave.
while word("go").value == 0:
    os.sched_yield()
try:
    main = importlib.import_module(next(name for name, path in MODULES.items() if path == PLAN["main"]))
except BaseException as error:
    end("load_failed", said(error))
try:
    serve(main)
except BaseException as error:
    end("raised", said(error))
