"""The same shards, taken as Spark takes them: its state variables, pandas frames, residents and images.

Only Spark itself is left out: its variables are dictionaries, its workers are dictionaries of residents.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.support.players import Settings
from tests.support.sharded import Cluster, Results, State, Worker
from weft.runtimes.joins import Join
from weft.runtimes.replica import COUNTED, Pack
from weft.spark.identity import digest_of
from weft.spark.processor import ShardState
from weft.spark.results import PACK, TOLD, is_nested, unpacked
from weft.spark.results import Results as Columns
from weft.spark.turn import Turn
from weft.state.manifest import read_manifest, write_manifest

QUERIES = count(1)


@dataclass(slots=True)
class Value:
    """A state variable of one row."""

    data: bytes | None

    def get(self) -> tuple[bytearray] | None:
        """Return the row; Spark gives bytes as it likes."""
        return None if self.data is None else (bytearray(self.data),)

    def update(self, row: tuple[bytes]) -> None:
        """Hold another row."""
        assert isinstance(row[0], bytes)
        self.data = row[0]


@dataclass(slots=True)
class Chunks:
    """A state variable that maps a number to bytes."""

    state: State

    def getValue(self, key: tuple[int]) -> tuple[bytearray] | None:  # noqa: N802 - Spark's names
        """Return a value."""
        data = self.state.get(*key)
        return None if data is None else (bytearray(data),)

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:  # noqa: N802
        """Keep a value."""
        self.state.put(*key, *value)

    def removeKey(self, key: tuple[int]) -> None:  # noqa: N802
        """Forget a value."""
        self.state.drop(*key)


@dataclass(slots=True)
class Turns(Cluster):
    """All shards of a join, each batch of each a turn."""

    folder: ClassVar[Path]  # of the executor, for images
    query: str = field(init=False)
    images: bool = field(init=False)

    def start(self, settings: Settings) -> None:
        """Start the query anew or from its checkpoint, in workers that know nothing."""
        Cluster.start(self, settings)
        self.query, self.images = f"q{next(QUERIES)}", self.random.random() < 0.7
        self.workers = [OrderedDict() for _ in self.workers]

    def _attempt(self, key: int, packs: list[Pack], stop: int | None = None) -> tuple[State, Results]:
        state, schema = self.states[key].copy(), self.plan.binding.schema
        manifest = Value(write_manifest(state.manifest) if state.manifest.nonce else None)
        identity, columns = Value(state.identity), Columns(schema, is_nested(schema))
        variables: Any = (manifest, identity, Chunks(state))
        turn = Turn(self.plan, columns, key, ShardState(*variables))
        results = Results()
        with self._on(self.random.choice(self.workers)):
            for at, frame in enumerate(turn.take(frames(self.random, packs, self.settings.sources[0]))):
                tables, told = read(frame, columns)
                results += tables
                if told is None and stop is not None and at >= stop:
                    return state, results
        assert told is not None, "what was counted comes last"
        assert told["watermark"] is not None or read_manifest(manifest.data or b"").watermark is None
        state.told.update({name: told[name] for name in COUNTED})
        state.manifest, state.identity = read_manifest(manifest.data or b""), identity.data
        assert told["state_bytes"] == sum(map(len, state.chunks.values()))
        return state, results

    @contextmanager
    def _on(self, worker: Worker) -> Iterator[None]:
        """Be a worker process for a while."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("weft.spark.residents._RESIDENTS", worker)
            patch.setattr("weft.spark.residents.WORTH", 0)
            patch.setattr("weft.spark.turn.query_id", lambda: self.query)
            patch.setenv("SPARK_LOCAL_DIRS", f"{self.folder},/nowhere" if self.images else "")
            yield

    def counted(self, name: str) -> int:
        """Return a count over all shards, which must be what the batches told together."""
        told = sum(state.told[name] for state in self.states.values())
        assert told == Cluster.counted(self, name)
        return told

    def joins(self, key: int) -> list[Join]:
        """Return every resident join of a shard that is of its last commit, and one read back."""
        place, nonce = (self.query, digest_of(self.plan), key), self.states[key].manifest.nonce
        held = [worker[place] for worker in self.workers if place in worker]
        return [self.read_back(key), *(one.join for one in held if one.nonce == nonce)]


def frames(random: Random, packs: Sequence[Pack], lefts: int) -> Iterator[pd.DataFrame]:
    """Return packs as Spark hands them on, in frames; pandas may say a missing pack in any way."""
    while packs:
        some, packs = packs[:7], packs[7:]
        missing = random.choice((None, float("nan"), pd.NA))
        columns = {
            "shard": [0] * len(some),
            "input": [pack.source + (lefts if pack.side == "right" else 0) for pack in some],
            "told": [pack.newest is not None for pack in some],
            "newest": [pack.newest or 0 for pack in some],
            "rows": [pack.rows for pack in some],
            "pack": np.array([missing if pack.data is None else pack.data for pack in some], object),
        }
        yield pd.DataFrame(columns)


def read(frame: pd.DataFrame, columns: Columns) -> tuple[Results, dict[str, Any] | None]:
    """Return the pairs of a frame as Spark sees them, or what it tells."""
    table = pa.table({name: frame[name].array.__arrow_array__() for name in frame.columns})
    names = [PACK] if columns.packed else columns.schema.names
    assert table.column_names == [*names, TOLD]
    if table[TOLD].null_count < table.num_rows:
        assert all(table[name].null_count == table.num_rows == 1 for name in names)
        return [], json.loads(table[TOLD][0].as_py())
    pairs = table.drop_columns([TOLD])
    if columns.packed:
        pairs = pa.Table.from_batches([*unpacked(pairs.to_batches())])
    return [pa.table(pairs.columns, schema=columns.schema)], None
