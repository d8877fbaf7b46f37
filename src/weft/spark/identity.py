"""What may never change between the runs of one checkpoint: written once, checked in a run's first batch."""

from __future__ import annotations

import base64
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from weft.errors import StateError
from weft.runtimes.checkpoint import columns_of, said
from weft.spark.shards import table_of
from weft.state.container import pack, unpack
from weft.state.log import DAMAGED
from weft.types import SIDES

if TYPE_CHECKING:
    from weft.spark.plan import ShardPlan

ANEW = "or begin a new checkpoint"


def write_identity(plan: ShardPlan) -> bytes:
    """Return a plan's identity as bytes."""
    return pack(_identity(plan), [])


def _identity(plan: ShardPlan) -> dict[str, Any]:
    schemas = {
        side: base64.b64encode(plan.side(side).schema.remove_metadata().serialize()).decode()
        for side in SIDES
    }
    return {
        "spec": plan.spec.identity(),
        "schemas": schemas,
        "replicas": plan.shards,
        "buckets": np.bincount(table_of(plan.shards), minlength=plan.shards).tolist(),
    }


def digest_of(plan: ShardPlan) -> str:
    """Return a name for all that `check_identity` compares."""
    return blake2b(write_identity(plan), digest_size=16).hexdigest()


def check_identity(data: bytes | None, plan: ShardPlan) -> None:
    """Refuse a plan that is not the one the checkpoint was begun with."""
    if data is None:
        message = "the checkpoint does not say which join it is of."
        raise StateError(message, DAMAGED)
    theirs, mine = unpack(data, "identity", DAMAGED)[0], _identity(plan)
    if theirs["replicas"] != plan.shards:
        message = f"the checkpoint has {theirs['replicas']} shards, and this call {plan.shards}."
        hint = f"write replicas={theirs['replicas']} (it follows spark.sql.shuffle.partitions if left out)"
        raise StateError(message, f"{hint}, {ANEW}")
    if theirs["buckets"] != mine["buckets"]:
        message = "the checkpoint has another table of buckets than this version of weft makes."
        raise StateError(message, f"go on with the version of weft that wrote it, {ANEW}")
    unlike = [name for name in mine["spec"] if mine["spec"][name] != theirs["spec"].get(name)]
    if unlike:
        parts = "; ".join(
            f"`{name}` was {said(theirs['spec'].get(name))}, now {said(mine['spec'][name])}"
            for name in unlike
        )
        message = f"the checkpoint is of another join: {parts}."
        raise StateError(
            message, f"only `late`, `lateness` and `idle` may change: write it as it was, {ANEW}"
        )
    for side in SIDES:
        if theirs["schemas"][side] != mine["schemas"][side]:
            was = columns_of(pa.ipc.read_schema(pa.py_buffer(base64.b64decode(theirs["schemas"][side]))))
            now = columns_of(plan.side(side).schema)
            message = f"the checkpoint's {side} columns are others: they were {was}; got {now}."
            raise StateError(message, f"select and cast them as they were, {ANEW}")
