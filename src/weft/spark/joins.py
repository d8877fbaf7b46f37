"""`weft.interval_join` on DataFrames: the pipeline that a call becomes.

left, right -> emitter (mapInArrow: packs a shard) -> shuffle (1:1 to partitions) -> replica (a processor with
state, or for tables one pass) -> pairs
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - everyone's name for it
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from weft.edge.binding import SideBinding, bind, bind_side
from weft.edge.buckets import BUCKETS
from weft.edge.names import exact
from weft.errors import InputError, NotYetError, SpecError, shown
from weft.spans import Span
from weft.spark.demands import check_store, check_versions
from weft.spark.emitter import PACKED, Emitter
from weft.spark.frames import (
    DELAY,
    arrow_schema,
    check_collation,
    check_travels,
    delays,
    read_inputs,
    selected,
    sized,
    without_watermark,
)
from weft.spark.plan import ShardPlan, narrowed
from weft.spark.processor import JoinProcessor
from weft.spark.results import PACK, TOLD, Results, is_nested, observed, unpacked
from weft.spark.shards import check_replicas
from weft.spark.tables import TableJoin
from weft.spec import join_spec
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from weft.edge.binding import Binding
    from weft.edge.names import Fold
    from weft.spark.frames import Inputs
    from weft.spec import JoinSpec

_CALLS = count(1)


def interval_join(left: object, right: object, arguments: dict[str, Any]) -> DataFrame:
    """Return the pairs of two DataFrames, both streams or both tables, as one."""
    inputs = read_inputs(left, right)
    session = inputs.session
    check_versions()
    spec = join_spec(**arguments, sources=(len(inputs.left), len(inputs.right)))
    if inputs.streaming:
        check_store(session)
        if spec.late == "route":
            message = '`late="route"` is not there yet on Spark.'
            raise NotYetError(message, 'write late="drop", which counts late rows, or late="fail"')
    fold: Fold = exact if session.conf.get("spark.sql.caseSensitive") == "true" else str.lower
    schemas = {side: inputs.of(side)[0].schema for side in SIDES}
    sides = {side: bind_side(spec, side, arrow_schema(schemas[side]), fold) for side in SIDES}
    whole = bind(spec, sides["left"], sides["right"], fold)
    if inputs.streaming:
        spec = _with_lateness(spec, inputs, sides)
    partitions = int(session.conf.get("spark.sql.shuffle.partitions") or 200)
    binding, needed = narrowed(whole)
    for side in SIDES:
        check_travels(side, schemas[side], needed[side])
        check_collation(side, schemas[side], sides[side].keys)
    plan = ShardPlan(spec, binding, check_replicas(spec.replicas or min(partitions, BUCKETS)))
    packs = _packs(inputs, plan, needed)
    schema = _result_schema(inputs, whole)
    return _streamed(packs, plan, schema) if inputs.streaming else _at_once(packs, plan, schema)


def _with_lateness(spec: JoinSpec, inputs: Inputs, sides: dict[Side, SideBinding]) -> JoinSpec:
    """Return a spec with the lateness of the call or, for want of it, of Spark's own watermarks."""
    if spec.lateness is not None:
        return spec
    found = {side: delays(inputs.of(side), sides[side].time) for side in SIDES}
    known = [delay for side in SIDES for delay in found[side] if delay is not None]
    if len(known) < sum(spec.sources):
        side = next(side for side in SIDES if None in found[side])
        message = f"`lateness` must be given for streams; the {side} one has no watermark of its own either."
        hint = 'write lateness="10 seconds": how far a row may lie behind the newest of its input'
        raise SpecError(message, hint)
    left, right = (Span(max(delay or 0 for delay in found[side]) * 10**6, "ns") for side in SIDES)
    return replace(spec, lateness=(left, right))


def _packs(inputs: Inputs, plan: ShardPlan, needed: dict[Side, tuple[int, ...]]) -> DataFrame:
    """Return the packs of all inputs."""
    frames = [(frame, needed[side]) for side in SIDES for frame in inputs.of(side)]
    each = []
    for number, (frame, places) in enumerate(frames):
        plain = without_watermark(frame) if inputs.streaming else frame
        each.append(selected(plain, places).mapInArrow(Emitter(plan, number), PACKED))
    return reduce(DataFrame.union, each)


def _streamed(packs: DataFrame, plan: ShardPlan, schema: StructType) -> DataFrame:
    results = Results(plan.binding.schema, is_nested(plan.binding.schema))
    columns = [StructField(PACK, BinaryType())] if results.packed else schema.fields
    found = packs.groupBy("shard").transformWithStateInPandas(
        statefulProcessor=JoinProcessor(plan, results),
        outputStructType=StructType([*columns, StructField(TOLD, StringType())]),
        outputMode="Append",
        timeMode="None",
    )
    told = found.observe(f"weft_{next(_CALLS)}", *observed(plan.binding))
    pairs = told.where(F.col(TOLD).isNull()).drop(TOLD)
    return pairs.mapInArrow(unpacked, schema) if results.packed else pairs


def _at_once(packs: DataFrame, plan: ShardPlan, schema: StructType) -> DataFrame:
    # Without a number, adaptive execution may put small shards together: they join as one.
    spread = packs.repartition(plan.shards, "shard") if plan.spec.replicas else packs.repartition("shard")
    return spread.mapInArrow(TableJoin(plan), schema)


def _result_schema(inputs: Inputs, binding: Binding) -> StructType:
    """Return the result's columns: as in the inputs, but any may be null, and none carries a watermark."""
    fields = []
    for name, (side, place) in zip(binding.schema.names, binding.output, strict=True):
        if name.lower() in (TOLD, PACK):
            message = f"the result must not have a column {shown(name)}, which weft uses itself."
            raise InputError(message, "rename it")
        field = inputs.of(side)[0].schema[place]
        metadata = {key: value for key, value in field.metadata.items() if key != DELAY}
        kind = StringType() if sized(field) else field.dataType
        fields.append(StructField(name, kind, nullable=True, metadata=metadata))
    return StructType(fields)
