"""Compiled kernels on disk: read where they cannot be written, a miss where they are damaged, never an obstacle."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sepset.kernels import warm
from support.bounded import child

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")

ROOT = Path(__file__).resolve().parents[2]
LOOPS = """
from sepset.kernels.kernel import kernel

@kernel
def total(values):
    out = 0.0
    for v in values:
        out += v
    return out
"""
SUM = """
import numpy as np, loops
print(loops.total(np.arange(5.0)), sum(loops.total.stats.cache_hits.values()))
"""
# The system refuses to write below this folder: audit hooks hear of it first, whoever asks.
READ_ONLY = """
import errno, os

def refuse(event, arguments):
    writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    changes = event in ("os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink", "os.truncate", "os.chmod")
    if (writes or changes) and str(arguments[0]).startswith({folder!r}):
        raise OSError(errno.EROFS, "read-only file system", str(arguments[0]))

sys.addaudithook(refuse)
"""
FULL = """
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # a write beyond fails half-way, as on a full disk
"""


def run(folder: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """A process that sums five numbers with a kernel cached in this folder, and counts how often the cache helped."""
    script = f"import sys\nsys.path.insert(0, {str(folder)!r})\n{before}{SUM}"
    return child(script, SEPSET_CACHE_DIR=str(folder / "cache"))


def files(folder: Path, suffix: str) -> list[Path]:
    return sorted((folder / "cache").rglob(f"*{suffix}"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    (folder / "loops.py").write_text(LOOPS)
    done = run(folder)
    assert done.stdout.split() == ["10.0", "0"], done.stderr
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    """A copy of the kernel and of its filled cache."""
    return Path(shutil.copytree(filled, tmp_path / "copy"))


def test_a_filled_cache_is_used(folder):
    done = run(folder)
    assert done.stdout.split() == ["10.0", "1"], done.stderr


def test_a_filled_cache_is_used_where_it_cannot_be_written(folder):
    done = run(folder, READ_ONLY.format(folder=str(folder / "cache")))
    assert done.stdout.split() == ["10.0", "1"], done.stderr


def flipped(place: float) -> Callable[[bytes], bytes]:
    """A copy with one byte turned over, at this share of its length."""

    def flip(content: bytes) -> bytes:
        at = int(place * len(content))
        return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]

    return flip


DAMAGES = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "garbage": lambda content: b"\x00garbage" * (len(content) // 8),
    "flipped": flipped(0.9),
}


def after(folder: Path, suffix: str, damages: dict[str, Callable[[bytes], bytes]]) -> dict[str, list[bool]]:
    """For each damage: whether the sum was right, whether the cache helped, and whether the file was replaced.

    One process makes the kernel again for each of them, from what is on disk.
    """
    (path,) = files(folder, suffix)
    whole = path.read_bytes()
    for name, damage in damages.items():
        (folder / name).write_bytes(damage(whole))
    script = f"""
        import importlib, json, shutil, sys
        sys.path.insert(0, {str(folder)!r})
        from pathlib import Path
        import numpy as np, loops

        path, found = Path({str(path)!r}), {{}}
        for name in {list(damages)}:
            broken = Path({str(folder)!r}, name).read_bytes()
            path.write_bytes(broken)
            importlib.reload(loops)
            is_right = loops.total(np.arange(5.0)) == 10.0
            helped = sum(importlib.import_module("loops").total.stats.cache_hits.values()) > 0
            found[name] = [bool(is_right), helped, path.read_bytes() != broken]
        print(json.dumps(found))
    """
    done = child(script, SEPSET_CACHE_DIR=str(folder / "cache"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_file_is_a_miss_and_is_replaced(folder, suffix):
    assert after(folder, suffix, DAMAGES) == {name: [True, False, True] for name in DAMAGES}


def test_the_search_for_damage_itself(folder):
    assert after(folder, ".nbc", {"none": lambda content: content}) == {"none": [True, True, False]}


def test_damaged_machine_code_is_not_run(folder):
    damages = {str(place): flipped(place) for place in (0.21, 0.25, 0.29)}
    assert after(folder, ".nbc", damages) == {name: [True, False, True] for name in damages}


def test_a_full_disk_is_no_obstacle(folder):
    shutil.rmtree(folder / "cache")
    done = run(folder, FULL)
    assert done.stdout.split() == ["10.0", "0"], done.stderr
    again = run(folder)
    assert again.stdout.startswith("10.0 "), again.stderr


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_one_flipped_byte_anywhere_is_a_miss(folder, suffix):
    """In one process, which loads the kernel anew for each damage: a byte of the digest, of the header, of the code."""
    (path,) = files(folder, suffix)
    script = f"""
        import sys
        sys.path.insert(0, {str(folder)!r})
        from pathlib import Path
        import loops
        from sepset.kernels.kernel import load_all

        load_all()
        path, cache = Path({str(path)!r}), loops.total._cache
        (sig,) = cache.saved(loops.total)
        whole = path.read_bytes()
        context = loops.total.targetctx
        context.refresh()
        found = []
        for at in range(0, len(whole), max(1, len(whole) // 97)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            found.append(cache._loaded(sig, context))
        path.write_bytes(whole)
        print(len(found), found.count(None), cache._loaded(sig, context) is not None)
    """
    done = child(script, SEPSET_CACHE_DIR=str(folder / "cache"))
    tried, missed, is_whole = done.stdout.split()
    assert (tried == missed, is_whole) == (True, "True"), done.stderr


def test_a_cache_of_another_processor_is_a_miss_and_is_kept(folder):
    shutil.rmtree(folder / "cache")
    other = "import os\nos.environ['NUMBA_CPU_NAME'], os.environ['NUMBA_CPU_FEATURES'] = 'generic', ''\n"
    for before, hits in ((other, "0"), ("", "0"), (other, "1"), ("", "1")):
        done = run(folder, before)
        assert done.stdout.split() == ["10.0", hits], done.stderr


def test_of_cold_processes_one_compiles(folder):
    shutil.rmtree(folder / "cache")
    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(run, [folder] * 3))
    assert sorted(done.stdout.split() for done in runs) == [["10.0", "0"], ["10.0", "1"], ["10.0", "1"]]


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked here")
def test_who_waited_long_enough_compiles(folder):
    import fcntl

    shutil.rmtree(folder / "cache" / "sepset" / "kernels")
    (path,) = (folder / "cache" / "sepset" / "locks").iterdir()
    impatient = "from sepset.kernels.diskcache import Lock\nLock._patience = 0.1\n"
    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = run(folder, impatient)
    assert done.stdout.split() == ["10.0", "0"], done.stderr
    assert files(folder, ".nbc")


def test_a_small_question_does_not_wait_for_the_compiler(tmp_path):
    script = """
        import os
        from numba.core import dispatcher
        import sepset as ss

        def compile(self, signature):
            print("compiles", self.py_func.__name__, flush=True)
            os._exit(1)

        dispatcher.Dispatcher.compile = compile
        a, b = ss.Discrete("a", 2), ss.Discrete("b", 2)
        model = ss.BayesNet(ss.TableCPD(a, [0.2, 0.8]), ss.TableCPD(b, [[0.8, 0.2], [0.4, 0.6]], given=a))
        print(round(ss.query(model, "b")[1], 6))  # 0.2 * 0.2 + 0.8 * 0.6
    """
    done = child(script, SEPSET_CACHE_DIR=str(tmp_path))
    assert done.stdout.strip() == "0.52", done.stderr


def test_the_log_says_that_kernels_are_compiled(folder):
    shutil.rmtree(folder / "cache")
    done = run(folder, "import logging\nlogging.basicConfig(level=logging.INFO)\n")
    assert "compil" in done.stderr


@pytest.mark.parametrize("module", ["sampling", "counting"])
def test_kernels_of_sampling_and_learning_are_compiled_ahead(module):
    assert module in {name.split(".")[-2] for name in warm.KERNELS}


@pytest.mark.parametrize("variable", ["SEPSET_CACHE_DIR", "SEPSET_WARM"])
def test_the_settings_of_the_cache_are_documented_for_users(variable):
    pages = [ROOT / "README.md", *(p for p in (ROOT / "docs").rglob("*.md") if p.stem != "architecture")]
    assert any(variable in page.read_text(encoding="utf-8") for page in pages)
