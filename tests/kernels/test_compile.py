import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import sepset
from sepset.kernels import compile as compiling
from sepset.kernels.kernel import kernel
from support.bounded import child

SOURCE = Path(sepset.__file__).parent
SCRIPT = """
    import sys
    sys.path.insert(0, {folder!r})
    import numpy as np
    from sepset.kernels.compile import cache_directory
    import loops
    print(loops.total(np.arange(5.0)), cache_directory())
"""
LOOPS = """
    from sepset.kernels.kernel import kernel

    @kernel
    def total(values):
        out = 0.0
        for v in values:
            out += v
        return out

    @kernel
    def ratio(a, b):
        return a / b
"""


@kernel
def total(values):
    out = 0.0
    for v in values:
        out += v
    return out


@kernel
def ratio(a, b):
    return a / b


def run(folder: Path, loops: str = LOOPS, **environment: str) -> subprocess.CompletedProcess:
    (folder / "loops.py").write_text(textwrap.dedent(loops))
    script = textwrap.dedent(SCRIPT).format(folder=str(folder))
    clean = {k: v for k, v in os.environ.items() if k not in ("SEPSET_CACHE_DIR", "NUMBA_DISABLE_JIT")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_cache_keeps_kernels_under_the_hash_of_their_sources(tmp_path):
    done = run(tmp_path, SEPSET_CACHE_DIR=str(tmp_path / "cache"))
    expected = tmp_path / "cache" / "sepset" / "kernels"
    assert (done.stdout.split(), done.returncode) == (["10.0", str(expected)], 0), done.stderr
    kept = sorted(expected.iterdir())
    assert [p.suffix for p in kept] == [".nbc", ".nbi"]
    assert all(compiling.source_hash(tmp_path / "loops.py") in p.name for p in kept)
    before = {p: p.stat().st_mtime_ns for p in kept}
    again = run(tmp_path, SEPSET_CACHE_DIR=str(tmp_path / "cache"))
    assert again.stdout == done.stdout
    assert {p: p.stat().st_mtime_ns for p in expected.iterdir()} == before


def test_the_folder_is_the_same_wherever_a_process_goes(tmp_path, monkeypatch):
    """A path that begins with the home folder, or where the process was started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    found = compiling.cache_directory.__wrapped__
    for name, folder in (("~/kept", tmp_path / "home" / "kept"), ("kept", tmp_path / "kept")):
        monkeypatch.setenv("SEPSET_CACHE_DIR", name)
        assert found() == folder / "sepset" / "kernels"
        assert folder.is_dir()


def test_an_unwritable_cache_is_no_obstacle(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = run(tmp_path, SEPSET_CACHE_DIR=str(blocked / "below"))
    assert (done.stdout.split(), done.returncode) == (["10.0", "None"], 0), done.stderr


def test_no_home_is_no_obstacle(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = run(tmp_path, HOME=str(blocked), XDG_CACHE_HOME="", SEPSET_CACHE_DIR="")
    assert (done.stdout.split(), done.returncode) == (["10.0", "None"], 0), done.stderr


def test_without_compilation(tmp_path):
    done = run(tmp_path, NUMBA_DISABLE_JIT="1", SEPSET_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.startswith("10.0 "), done.stderr
    assert not list((tmp_path / "cache").rglob("*.nb?"))


@pytest.mark.parametrize("setting", ["NUMBA_DISABLE_JIT", "SEPSET_CACHE_DIR"])
def test_kernels_that_only_save_time_without_a_compiler_or_a_folder(tmp_path, setting):
    """Without a folder nothing is compiled in the background: the kernel is ready when it was wanted often enough."""
    (tmp_path / "file").write_text("not a folder")
    value = {"NUMBA_DISABLE_JIT": "1", "SEPSET_CACHE_DIR": str(tmp_path / "file")}[setting]
    script = """
        from sepset.kernels import kernel, compile as compiling
        from sepset.kernels.data.counting import count_rows
        kernel.load_all()
        answers = [kernel.is_at_hand(count_rows) for _ in range(compiling.OFTEN + 1)]
        print(answers[0], answers[-1])
    """
    done = child(script, **{setting: value, "SEPSET_WARM": "1"})
    assert done.stdout.split() == [str(setting == "NUMBA_DISABLE_JIT"), "True"], done.stderr


def test_the_hash_follows_every_source(tmp_path, monkeypatch):
    def write(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text)

    write("compile", "")
    write("caller", "from sepset.kernels.middle import f\n")
    write("middle", "from sepset.kernels.callee import (\n    g,\n)\nfrom sepset.kernels.caller import f\n")
    write("callee", "one")
    write("other", "")
    monkeypatch.setattr(compiling, "__file__", str(tmp_path / "compile.py"))
    fresh = partial(compiling.source_hash.__wrapped__, tmp_path / "caller.py")
    first = fresh()
    write("other", "nobody imports this")
    assert fresh() == first
    write("callee", "two")
    second = fresh()
    write("compile", "changed")
    assert len({first, second, fresh()}) == 3


def test_a_kernel_outside_the_package_is_compiled_again_when_it_changes(tmp_path):
    """Python takes a source of the same size and second for unchanged; the second one is longer."""
    assert run(tmp_path, SEPSET_CACHE_DIR=str(tmp_path)).stdout.startswith("10.0 ")
    changed = LOOPS.replace("out += v", "out = out - v")
    assert run(tmp_path, changed, SEPSET_CACHE_DIR=str(tmp_path)).stdout.startswith("-10.0 ")


def test_a_kernel_without_a_file_is_not_cached():
    scope: dict[str, object] = {}
    exec("def double(x):\n    return 2 * x", scope)
    assert kernel(scope["double"])(4) == 8


def test_threads_share_a_kernel():
    rows = [np.full(1000, float(i)) for i in range(32)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(total, rows)) == [1000.0 * i for i in range(32)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_can_use_kernels(tmp_path):
    script = """
        import os, sys
        sys.path.insert(0, {folder!r})
        import numpy as np
        import loops
        assert loops.total(np.ones(3)) == 3.0
        child = os.fork()
        if not child:
            os._exit(0 if loops.total(np.ones(4)) == 4.0 and loops.total(np.ones(4, np.float32)) == 4.0 else 1)
        assert os.waitpid(child, 0)[1] == 0
        print("fine")
    """
    (tmp_path / "loops.py").write_text(textwrap.dedent(LOOPS))
    code = textwrap.dedent(script).format(folder=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"SEPSET_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "fine", done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no timers here")
def test_an_interruption_is_raised_when_the_kernel_is_done(tmp_path):
    script = """
        import signal, sys
        sys.path.insert(0, {folder!r})
        import loops
        loops.slow(1)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        found = []
        for _ in range(3):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                loops.slow(200_000_000)
                found.append("finished")
            except BaseException as error:
                found.append(type(error).__name__)
        print(*found, loops.slow(0)[0][0])
    """
    loops = """
        import numpy as np
        from sepset.kernels.kernel import kernel

        @kernel
        def slow(n):
            out, x = np.zeros(1), 1
            for i in range(n):
                x = (x * 1103515245 + 12345) % 2147483648
            out[0] = x
            return out, out + 1.0
    """
    (tmp_path / "loops.py").write_text(textwrap.dedent(loops))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script).format(folder=str(tmp_path))],
        env=os.environ | {"SEPSET_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["KeyboardInterrupt"] * 3 + ["1.0"], done.stderr


def test_division_by_zero_is_infinite():
    with np.errstate(all="ignore"):
        assert ratio(np.float64(1.0), np.float64(0.0)) == np.inf


def test_the_notice_is_for_terminals_only(tmp_path):
    done = run(tmp_path, SEPSET_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stderr == ""


def test_importing_the_library_does_not_import_numba():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, sepset; print('numba' in sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "False", done.stderr


def test_compiled_functions_live_in_kernels_alone():
    users = [p.relative_to(SOURCE).as_posix() for p in SOURCE.rglob("*.py") if "numba" in _imports(p)]
    assert [user for user in users if not user.startswith("kernels/")] == []


def _imports(path: Path) -> str:
    lines = path.read_text().splitlines()
    return " ".join(line for line in lines if line.strip().startswith(("import ", "from ")))
