"""Whatever is pushed, purged, forgotten, failed and taken over by another process: an image is the state."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.edge.test_interner import TEXTS, WORDS, keys_in, text_codes, word_codes
from tests.indexes.rows import LEAD_PLACE
from tests.indexes.test_runs import TINY, RunsMachine
from tests.kernels.memory import tries
from tests.state.shards import empty, interner_of, loaded, nonce
from tests.support.cases import Case, assert_joined, side_of
from tests.support.families import PAYLOADS
from tests.support.feeds import Event, Push, Reload, draw_feed, lateness_needed
from tests.support.players import Player, Settings, stream_of
from tests.support.streams import cases
from weft.edge.interner import Interner
from weft.indexes.runs import Runs
from weft.runtimes.joins import new_join
from weft.state.images import Images


class ImagedRuns(RunsMachine):
    """The window of the window's own tests, handed from process to process by images."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.processes = [Images(Path(self.folder.name) / "shard") for _ in range(2)]

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()

    @rule(one=st.integers(0, 1), other=st.integers(0, 1), stay=st.booleans())
    def hand_over(self, one: int, other: int, stay: bool) -> None:
        """Save in one process, and go on there, or in one that loads."""
        name, windows = nonce(), {"left": self.window, "right": Runs(LEAD_PLACE)}
        assert self.processes[one].save(name, interner_of(self.keys), windows)  # type: ignore[arg-type]
        interner, again = loaded(self.processes[other], name)
        assert interner.size == self.keys
        assert again["left"].nbytes == self.window.nbytes
        if not stay:
            self.window = again["left"]


TestImagedRuns: Any = ImagedRuns.TestCase
TestImagedRuns.settings = tries(30)


class KeysMachine(RuleBasedStateMachine):
    """Processes that take turns: each loads the last commit, names keys, forgets some, and saves or fails."""

    words = True

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("weft.state.images.TAIL", 4)
        self.patch.setattr("weft.state.images.LINE", 5)
        self.folder = tempfile.TemporaryDirectory()
        self.processes = [Images(Path(self.folder.name)) for _ in range(3)]
        self.keys: list[Any] = []
        self.last, self.held = nonce(), [(Interner(words=self.words), "")] * 3
        assert self.processes[0].save(self.last, Interner(words=self.words), empty())

    def teardown(self) -> None:
        self.patch.undo()
        self.folder.cleanup()

    def interner(self, at: int) -> Interner:
        """Return what a process holds if it is of the last commit, else what it loads."""
        interner, name = self.held[at]
        if name != self.last:
            found = self.processes[at].load(self.last, empty(), words=self.words)
            assert found is not None
            interner = found
        assert keys_in(interner.keys()) == self.keys
        return interner

    @rule(
        at=st.integers(0, 2),
        data=st.data(),
        forget=st.sampled_from([False, False, True]),
        end=st.sampled_from(["commit"] * 4 + ["fail", "fail after the save"]),
    )
    def turn(self, at: int, data: st.DataObject, forget: bool, end: str) -> None:
        """Take a turn; after a failure nobody holds what was made of it."""
        interner = self.interner(at)
        more = data.draw(st.lists(WORDS if self.words else TEXTS, max_size=12))
        ids = interner.intern((word_codes if self.words else text_codes)(more))
        keys = [*dict.fromkeys([*self.keys, *more])]
        assert [keys[id_] for id_ in ids] == more
        if forget:
            used = np.array([data.draw(st.booleans()) for _ in keys], bool)
            interner, _ = interner.without(used)
            keys = [key for key, kept in zip(keys, used, strict=True) if kept]
        self.held[at] = (interner, "")
        name = nonce()
        if end != "fail":
            assert self.processes[at].save(name, interner, empty())
        if end == "commit":
            self.keys, self.last, self.held[at] = keys, name, (interner, name)
            self.reads_alike(interner.settled)

    def reads_alike(self, settled: int) -> None:
        """Claim that a new process reads the keys, from few files."""
        images = Images(Path(self.folder.name))
        interner = images.load(self.last, empty(), words=self.words)
        assert interner is not None
        assert (keys_in(interner.keys()), interner.settled) == (self.keys, settled)
        sizes = [count for _, count in images._keys.files]  # type: ignore[union-attr]
        assert all(one > 2 * two for one, two in itertools.pairwise(sizes))


class TextKeysMachine(KeysMachine):
    words = False


TestKeys: Any = KeysMachine.TestCase
TestTextKeys: Any = TextKeysMachine.TestCase
TestKeys.settings = TestTextKeys.settings = tries(25)


def test_a_process_that_had_the_first_keys_reads_the_others_only(tmp_path: Path) -> None:
    one, other, interner = Images(tmp_path), Images(tmp_path), interner_of(50_000)
    first, second = nonce(), nonce()
    assert one.save(first, interner, empty())
    theirs = other.load(first, empty(), words=True)
    assert theirs is not None
    interner.intern(word_codes([-1, -2]))
    assert one.save(second, interner, empty())
    assert other.load(second, empty(), words=True) is theirs
    assert theirs.keys().values.tolist() == interner.keys().values.tolist()
    theirs.intern(word_codes([-3]))  # of an attempt that fails
    again = other.load(second, empty(), words=True)
    assert again is not None
    assert again is not theirs
    assert again.keys().values.tolist() == interner.keys().values.tolist()


class Imaged(Player):
    """A player whose restarts take the rows and the keys from an image, all else from a snapshot."""

    def _reload(self) -> None:
        super()._reload()
        engine = self.op._engine
        if engine.join is None:
            return
        with tempfile.TemporaryDirectory() as folder:
            name, old = nonce(), engine.join
            assert Images(Path(folder)).save(name, old.interner, old.operator.windows)
            engine.join = join = new_join(engine.spec, engine.sides["left"], engine.sides["right"])
            interner = Images(Path(folder)).load(name, join.operator.windows, words=join.interner.words)
        assert interner is not None
        join.interner = interner


def imaged(case: Case, settings: Settings, random: Random) -> Imaged:
    return Imaged(case, settings, random, stream_of(case, settings))


@pytest.fixture(params=[False, True], ids=["as it is", "tiny"], scope="module")
def sizes(request: pytest.FixtureRequest) -> Any:
    """Let runs be of any size, or of a few rows."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (TINY | {"runs.LARGE": 2} if request.param else {}).items():
            patch.setattr(f"weft.indexes.{name}", value)
        yield


@given(case=cases(rows=8), random=st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_an_image_at_every_cut_changes_no_result(sizes: None, case: Case, random: Random) -> None:
    feed = draw_feed(random, case)
    stage = imaged(case, Settings(lateness_needed(case, feed)), random)
    stage.play([event for push in feed for event in (push, Reload())])
    stage.play([Push((), ())])
    assert_joined(case, stage.result())


def test_every_type_of_payload_survives_an_image(sizes: None) -> None:
    columns = {"id": (pa.int64(), range(6)), "key": (pa.int64(), [1] * 6), "ts": (pa.int64(), range(6))}
    columns |= {
        f"p{at}": (kind, [(None, *pool)[row % (len(pool) + 1)] for row in range(6)])
        for at, (kind, pool) in enumerate(PAYLOADS)
    }
    case = Case(side_of(columns), side_of(columns), -2, 2)
    feed: Sequence[Event] = [
        *(Push((0, 1, 2), None), Reload(), Push(None, (0, 1, 2)), Reload(), Reload()),
        Push((3, 4, 5), (3, 4, 5)),
    ]
    stage = imaged(case, Settings((10, 10)), Random(0))
    stage.play(feed)
    assert_joined(case, stage.result())
