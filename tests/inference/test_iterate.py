"""The driver stops where it should, keeps whole states only, and resumes to the bit."""

from __future__ import annotations

import pickle
import time
import zlib

import numpy as np
import pytest

from sepset.errors import ArgumentError, DataError, NotApplicable
from sepset.inference import checkpoint, iterate
from sepset.inference.iterate import Info, Interrupted, Run, Until, as_until, keeping, run
from sepset.inference.result import Guarantee, IterativeResult, Status


class Walk:
    """Adds a random number a step; the objective is the sum."""

    def __init__(self, interrupt_at=None, done_at=None):
        self.interrupt_at, self.done_at = interrupt_at, done_at

    def init(self, task, rng):
        return (0, float(task))

    def step(self, task, state, rng):
        number, total = state
        if number == self.interrupt_at:
            raise KeyboardInterrupt
        new = (number + 1, total + rng.random())
        return new, Info(new[1], abs(new[1] - total), new[0] == self.done_at)


class Halving:
    def init(self, task, rng):
        return float(task)

    def step(self, task, state, rng):
        return state / 2, Info(-state / 2, state / 2)


def walk(steps, **more):
    return run(Walk(), 1.0, rng=np.random.default_rng(3), until=Until(steps=steps, tolerance=None), **more)


def test_statuses():
    assert run(Halving(), 8, until=Until(steps=3, tolerance=None)).status is Status.STEP_LIMIT
    outcome = run(Halving(), 8, until=Until(tolerance=0.5))
    assert (outcome.status, outcome.state, outcome.num_steps) == (Status.CONVERGED, 0.5, 4)
    assert outcome.trace.tolist() == [-4, -2, -1, -0.5]
    done = run(Walk(done_at=5), 0.0, until=Until(steps=100, tolerance=None))
    assert (done.status, done.num_steps) == (Status.CONVERGED, 5)


def test_time_limit():
    class Slow(Halving):
        def step(self, task, state, rng):
            time.sleep(0.02)
            return super().step(task, state, rng)

    outcome = run(Slow(), 1.0, until=Until(steps=None, tolerance=None, seconds=0.1))
    assert outcome.status is Status.TIME_LIMIT
    assert 1 <= outcome.num_steps <= 5


def test_a_diverging_objective_is_reported():
    class Bad(Halving):
        def step(self, task, state, rng):
            return state, Info(np.nan, np.nan)

    assert run(Bad(), 1.0).status is Status.DIVERGED


def test_no_steps_leave_the_first_state():
    outcome = run(Halving(), 8, until=Until(steps=0))
    assert (outcome.state, outcome.num_steps, outcome.status) == (8, 0, Status.STEP_LIMIT)


def test_interruption_keeps_the_last_whole_state():
    outcome = run(Walk(interrupt_at=4), 0.0, until=Until(steps=10, tolerance=None))
    assert (outcome.status, outcome.state[0], outcome.num_steps) == (Status.INTERRUPTED, 4, 4)


def test_interruption_before_there_is_a_state_is_passed_on():
    class Never(Halving):
        def init(self, task, rng):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Never(), 1.0)


def test_callback_sees_every_step_and_can_stop():
    seen = []
    outcome = run(Halving(), 8, callback=lambda n, info, state: seen.append((n, info.objective, state)))
    assert seen[0] == (1, -4.0, 4.0)
    assert len(seen) == outcome.num_steps
    stopped = run(Halving(), 8, callback=lambda n, info, state: n == 2)
    assert (stopped.status, stopped.num_steps) == (Status.COMPLETED, 2)


@pytest.mark.parametrize("stop", [0, 1, 7])
def test_resuming_is_the_same_as_going_on(stop):
    whole = walk(20)
    parts = walk(20, start=pickle.loads(pickle.dumps(walk(stop))))
    assert parts.state == whole.state
    assert parts.trace.tolist() == whole.trace.tolist()
    assert parts.generator == whole.generator


def test_checkpoints_resume_to_the_bit(tmp_path):
    file = tmp_path / "run.bin"
    walk(7, checkpoint=file, about="walk")
    resumed = walk(20, checkpoint=file, about="walk")
    assert resumed.state == walk(20).state
    assert Run.load(file).num_steps == 20
    assert list(tmp_path.iterdir()) == [file]


def test_an_interrupted_run_resumes_where_it_was(tmp_path):
    file, rule = tmp_path / "run.bin", Until(steps=9, tolerance=None)
    cut = run(Walk(interrupt_at=4), 1.0, rng=np.random.default_rng(3), until=rule, checkpoint=file)
    assert cut.status is Status.INTERRUPTED
    assert run(Walk(), 1.0, rng=np.random.default_rng(99), until=rule, checkpoint=file).state == walk(9).state


def test_long_runs_write_as_they_go(tmp_path, monkeypatch):
    monkeypatch.setattr("sepset.inference.iterate.CHECKPOINT_SECONDS", 0.0)
    file, sizes = tmp_path / "run.bin", []
    walk(3, checkpoint=file, callback=lambda n, info, state: sizes.append(Run.load(file).num_steps))
    assert sizes == [1, 2, 3]


def test_a_full_disk_costs_the_checkpoint_and_not_the_run(tmp_path, monkeypatch):
    """Whichever write fails, the first or a later one, there is a warning and the run."""
    monkeypatch.setattr("sepset.inference.iterate.CHECKPOINT_SECONDS", 0.0)
    file, real, left = tmp_path / "run.bin", checkpoint.save, [2]

    def save(content, path):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        real(content, path)

    monkeypatch.setattr(checkpoint, "save", save)
    with pytest.warns(RuntimeWarning, match="No space left on device.*the run itself continues") as warned:
        found = walk(4, checkpoint=file)
    assert len(warned) == 1
    assert found.state == walk(4).state
    assert Run.load(file).num_steps == 1
    with pytest.warns(RuntimeWarning, match="No space"):
        assert walk(4, checkpoint=tmp_path / "other.bin").state == found.state


def test_what_has_converged_stays_so(tmp_path):
    file = tmp_path / "run.bin"
    first = run(Halving(), 8, until=Until(tolerance=0.5), checkpoint=file)
    again = run(Halving(), 8, until=Until(tolerance=0.5), checkpoint=file)
    assert (again.status, again.num_steps) == (first.status, first.num_steps)


def test_foreign_checkpoints_are_refused(tmp_path):
    file = tmp_path / "run.bin"
    walk(2, checkpoint=file, about="walk of 3 rows")
    with pytest.raises(DataError, match="walk of 3 rows"):
        walk(2, checkpoint=file, about="walk of 4 rows")
    for content in (b"", b"nonsense", b"a,b\n1,2\n", bytes(range(256)), pickle.dumps("text"), b"cno_such\nThing\n."):
        file.write_bytes(content)
        with pytest.raises(DataError, match="not a checkpoint"):
            walk(2, checkpoint=file, about="walk")
        assert file.read_bytes() == content


def test_nothing_in_a_foreign_file_is_run(tmp_path):
    file, proof = tmp_path / "run.bin", tmp_path / "proof"
    file.write_bytes(b"cpathlib\nPath.touch\n(cpathlib\nPath\n(V%s\ntRtR." % str(proof).encode())
    with pytest.raises(DataError, match="not a checkpoint"):
        walk(2, checkpoint=file)
    assert not proof.exists()


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.99])
def test_checkpoints_cut_short_are_refused(tmp_path, kept):
    file = tmp_path / "run.bin"
    walk(2, checkpoint=file)
    content = file.read_bytes()
    file.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(DataError, match=r"damaged|not a checkpoint"):
        walk(3, checkpoint=file)


def test_any_changed_byte_is_found(tmp_path):
    file = tmp_path / "run.bin"
    walk(2, checkpoint=file)
    content = file.read_bytes()
    for place in range(0, len(content), 7):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(DataError):
            walk(3, checkpoint=file)


def test_checkpoints_of_newer_versions_are_refused(tmp_path):
    file = tmp_path / "run.bin"
    walk(2, checkpoint=file)
    file.write_bytes(file.read_bytes().replace(b"checkpoint 2 ", b"checkpoint 3 "))
    with pytest.raises(DataError, match="has format 3, and this version of sepset reads 2"):
        walk(3, checkpoint=file)


def test_pickled_checkpoints_are_refused_and_not_run(tmp_path):
    """The first format was a pickle behind the same kind of line; a file of it is not even opened as one."""
    file, proof = tmp_path / "run.bin", tmp_path / "proof"
    body = b"cpathlib\nPath.touch\n(cpathlib\nPath\n(V%s\ntRtR." % str(proof).encode()
    file.write_bytes(b"sepset checkpoint 1 %08x\n" % zlib.crc32(body) + body)
    with pytest.raises(DataError, match="format 1, a pickle"):
        walk(2, checkpoint=file)
    assert not proof.exists()


GOOD = {
    "about": "",
    "status": "interrupted",
    "trace": np.zeros(1),
    "seconds": 1.0,
    "generator": np.random.default_rng(0).bit_generator.state,
    "is_begun": True,
    "info": (0.0, 1.0, False, "converged"),
    "state": (1, 2.5),
}


@pytest.mark.parametrize(
    "change",
    [
        {"trace": "abc"},
        {"trace": np.zeros((2, 2))},
        {"status": "dancing"},
        {"seconds": "long"},
        {"generator": {"bit_generator": "default_rng"}},
        {"generator": {**np.random.default_rng(0).bit_generator.state, "state": {}}},
        {"generator": 3},
        {"info": (1.0,)},
        {"info": 7},
        {"about": 3},
    ],
)
def test_whole_files_of_the_wrong_content_are_refused(tmp_path, change):
    """The checksum agrees, as it does where somebody writes such a file on purpose."""
    file = tmp_path / "run.bin"
    checkpoint.save(GOOD, file)
    assert Run.load(file).state == (1, 2.5)
    checkpoint.save({**GOOD, **change}, file)
    with pytest.raises(DataError, match=r"run\.bin"):
        walk(3, checkpoint=file)


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_files_that_lack_something_are_refused(tmp_path, missing):
    file = tmp_path / "run.bin"
    checkpoint.save({key: value for key, value in GOOD.items() if key != missing}, file)
    with pytest.raises(DataError, match="another version"):
        walk(3, checkpoint=file)
    checkpoint.save([1, 2], file)
    with pytest.raises(DataError, match=r"run.bin"):
        walk(3, checkpoint=file, about="walk")


def test_states_that_cannot_be_kept_are_refused_before_the_first_step(tmp_path):
    class Odd(Halving):
        def init(self, task, rng):
            return object()

        def step(self, task, state, rng):
            raise AssertionError

    with pytest.raises(NotApplicable, match="codec="):
        run(Odd(), 1.0, checkpoint=tmp_path / "run.bin")
    assert not list(tmp_path.iterdir())


def test_codecs_keep_what_is_not_plain(tmp_path):
    class Text:
        def pack(self, state):
            return str(state)

        def unpack(self, content):
            return complex(content)

    class Turning(Halving):
        def init(self, task, rng):
            return 1 + 2j

        def step(self, task, state, rng):
            return state * 1j, Info(0.0, 1.0)

    file, rule = tmp_path / "run.bin", [Until(steps=n, tolerance=None) for n in (1, 3)]
    for until in rule:
        found = run(Turning(), 0, until=until, checkpoint=file, codec=Text())
    assert found.state == (1 + 2j) * 1j**3
    with pytest.raises(DataError, match="another version"):
        Run.load(file, codec=type("Bad", (Text,), {"unpack": lambda self, content: int(content)})())


def test_a_stricter_rule_goes_on_from_where_a_looser_one_stopped(tmp_path):
    file = tmp_path / "run.bin"
    assert run(Halving(), 8, until=Until(tolerance=0.5), checkpoint=file).state == 0.5
    again = run(Halving(), 8, until=Until(tolerance=0.125), checkpoint=file)
    whole = run(Halving(), 8, until=Until(tolerance=0.125))
    assert (again.state, again.status, again.trace.tolist()) == (whole.state, whole.status, whole.trace.tolist())


def test_other_kinds_of_generators(tmp_path):
    file, rule = tmp_path / "run.bin", Until(steps=5, tolerance=None)
    for kind in (np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM):
        whole = run(Walk(), 1.0, rng=np.random.Generator(kind(3)), until=rule)
        run(Walk(), 1.0, rng=np.random.Generator(kind(3)), until=Until(steps=2, tolerance=None), checkpoint=file)
        assert run(Walk(), 1.0, rng=np.random.Generator(kind(9)), until=rule, checkpoint=file).state == whole.state
        with pytest.raises(DataError, match="generator; found PCG64"):
            run(Walk(), 1.0, rng=np.random.default_rng(3), until=rule, checkpoint=file)
        file.unlink()


def test_checkpoints_need_a_place_before_work_is_done(tmp_path):
    for place, why in ((tmp_path, "Is a directory"), (tmp_path / "none" / "run.bin", "no directory")):
        steps = []
        with pytest.raises(OSError, match=why):
            walk(2, checkpoint=place, callback=lambda *args, steps=steps: steps.append(1))
        assert not steps


class Begun(Walk):
    """Interrupted while it begins, with a state in hand; later beginnings are whole."""

    def __init__(self):
        super().__init__()
        self.times = 0

    def init(self, task, rng):
        self.times += 1
        first = rng.random()
        if self.times == 1:
            raise Interrupted((0, -1.0))
        return (0, first)


def test_an_interrupted_beginning_is_made_anew(tmp_path):
    """The best so far is what one gets; who resumes gets what one run would have given."""
    file, rule = tmp_path / "run.bin", Until(steps=2, tolerance=None)
    method = Begun()
    cut = run(method, 8.0, checkpoint=file, until=rule)
    assert (cut.status, cut.state, cut.num_steps) == (Status.INTERRUPTED, (0, -1.0), 0)
    resumed = run(method, 8.0, until=rule, checkpoint=file)
    method.times = 1
    assert resumed.state == run(method, 8.0, until=rule).state


class Entering(Halving):
    """Ctrl-C as compiled code reports it."""

    def step(self, task, state, rng):
        if state < 2:
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        return super().step(task, state, rng)


def test_interruptions_of_compiled_code_are_interruptions():
    assert run(Entering(), 8.0).status is Status.INTERRUPTED

    class Never(Halving):
        def init(self, task, rng):
            raise SystemError from KeyboardInterrupt()

        def step(self, task, state, rng):
            raise SystemError

    with pytest.raises(KeyboardInterrupt):
        run(Never(), 8.0)
    with pytest.raises(SystemError):
        run(Never(), 8.0, start=run(Halving(), 8.0, until=Until(steps=0)))


def test_stopping_rules_are_checked():
    for bad in ({"steps": -1}, {"steps": True}, {"steps": 1.5}, {"tolerance": -1.0}, {"seconds": -1.0}):
        with pytest.raises(ArgumentError, match=r"Until\("):
            Until(**bad)
    with pytest.raises(ArgumentError, match="never ends"):
        Until(steps=None, tolerance=None)
    assert as_until(None) == Until()
    assert (Until().steps, Until(seconds=3.0).steps, Until(7, seconds=3.0).steps) == (1000, None, 7)
    assert as_until(Until(steps=3)) == Until(steps=3)
    assert as_until(5, Until(tolerance=1e-3)) == Until(steps=5, tolerance=1e-3)
    with pytest.raises(ArgumentError, match="until="):
        as_until("soon")


def test_progress_names_the_step(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    run(Halving(), 8, until=Until(steps=3, tolerance=None), progress=True)
    assert "step" in capsys.readouterr().err


class Reading(Halving):
    def read(self, task, state):
        guarantees = {"parameters": Guarantee.STATIONARY, "bound": Guarantee.LOWER_BOUND}
        return IterativeResult(method=self, guarantees=guarantees, info={"state": state})


def test_a_run_is_read_with_its_status_trace_and_time():
    outcome = run(Reading(), 8, until=Until(tolerance=0.5))
    found = outcome.result(Reading(), 8)
    assert (found.status, found.state, found.info["state"]) == (Status.CONVERGED, outcome, outcome.state)
    assert found.trace is outcome.trace
    assert found.info["seconds"] == round(outcome.seconds, 3)
    assert found.guarantees["parameters"] is Guarantee.STATIONARY


def test_a_run_that_has_not_converged_is_at_no_stationary_point():
    found = run(Reading(), 8, until=Until(steps=2, tolerance=None)).result(Reading(), 8)
    assert found.status is Status.STEP_LIMIT
    assert found.guarantees == {"parameters": Guarantee.HEURISTIC, "bound": Guarantee.LOWER_BOUND}


class Timed:
    """Steps of one second each, with measures from a table; the bars of its run are recorded."""

    def __init__(self, infos, clock):
        self.infos, self.clock = infos, clock

    def init(self, task, rng):
        return 0

    def step(self, task, state, rng):
        self.clock.now += 1.0
        return state + 1, self.infos[state]


@pytest.fixture
def forecasts(monkeypatch):
    """The estimates of the seconds left after each step of `Timed` steps."""

    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

    clock, found = Clock(), []

    class Recorded(iterate.Bar):
        def report(self, done, total, what=None, *, left=None):
            found.append((total, left()))

    monkeypatch.setattr(iterate, "time", clock)
    monkeypatch.setattr(iterate, "Bar", Recorded)

    def estimates(infos, until):
        found.clear()
        run(Timed(infos, clock), None, until=until, progress=True)
        return found

    return estimates


def test_the_change_tells_when_a_run_converges(forecasts):
    """The change halves in each second: 2**-k falls to 2**-20 in step 20."""
    infos = [Info(-(0.5**k), 0.5**k) for k in range(40)]
    found = forecasts(infos, Until(steps=1000, tolerance=2.0**-20))
    assert len(found) == 21
    assert [total for total, _ in found] == [None] * 21
    assert [left for _, left in found[3:]] == pytest.approx([20.0 - k for k in range(3, 21)], abs=1e-9)


def test_limits_come_before_a_slow_trend(forecasts):
    infos = [Info(-(0.99**k), 0.99**k) for k in range(40)]
    assert forecasts(infos, Until(steps=30, tolerance=1e-12))[9][1] == pytest.approx(20.0)
    assert forecasts(infos, Until(steps=None, tolerance=1e-12, seconds=15.0))[9][1] == pytest.approx(5.0)


def test_the_gap_tells_when_a_search_ends(forecasts):
    infos = [Info(-100.0, np.inf, is_done=k == 10, gap=10.0 - k) for k in range(11)]
    found = forecasts(infos, Until(steps=None, tolerance=0.0))
    assert [left for _, left in found[3:10]] == pytest.approx([10.0 - k for k in range(3, 10)])


def test_starts_tell_when_a_search_with_restarts_ends(forecasts):
    """Ten starts of five steps each, most of which gain nothing."""
    infos = [Info(float(k > 2), np.inf, is_done=k == 49, rest=1.0 - k // 5 / 10) for k in range(50)]
    found = forecasts(infos, Until(steps=None, tolerance=0.0))
    assert found[9][1] is None
    assert found[34][1] == pytest.approx(15.0, abs=1.5)


def test_gains_tell_when_hill_climbing_ends_and_chains_have_their_total(forecasts):
    heights = np.cumsum([10.0 - k for k in range(10)]).tolist()
    endless = Until(steps=None, tolerance=None, seconds=np.inf)
    climbed = forecasts([Info(h, np.inf, is_done=k == 9) for k, h in enumerate(heights)], endless)
    assert climbed[5] == (None, pytest.approx(5.0))
    drawn = forecasts([Info(float(h), np.inf) for h in (3, 1, 4, 1, 5, 9, 2, 6)], Until(steps=8, tolerance=None))
    assert drawn[1:] == [(8, None)] * 7


def test_a_step_that_is_cut_short_may_have_found_something():
    """The result is read from it; the run itself, and one that is resumed, are at the last whole state."""

    class Doubling:
        def init(self, task, rng):
            return 1

        def step(self, task, state, rng):
            with keeping(lambda: 100 + state):
                if state == task:
                    raise KeyboardInterrupt
            return 2 * state, Info(float(state), 1.0)

        def read(self, task, state):
            return IterativeResult(method=self, guarantees={}, info={"value": state})

    rule = Until(steps=5, tolerance=None)
    cut = run(Doubling(), 8, until=rule)
    assert (cut.state, cut.status, cut.result(Doubling(), 8).info["value"]) == (8, Status.INTERRUPTED, 108)
    whole = run(Doubling(), None, until=rule)
    assert run(Doubling(), None, until=rule, start=cut).state == whole.state == 32
