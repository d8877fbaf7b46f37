"""DataFrames as a join sees them: what they are, their columns as Arrow's, and their own watermarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - everyone's name for it
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import CharType, StringType, VarcharType

from weft.edge.frame_kinds import named
from weft.errors import InputError, NotYetError, shown
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession
    from pyspark.sql.types import StructField, StructType

DELAY = "spark.watermarkDelayMs"  # in a column's metadata: Spark's own watermark
WATERMARK = "EventTimeWatermark"  # the node of a plan that it comes from
# Nodes that keep no state: a watermark below them is one for the join.
STATELESS = {
    *("CollectMetrics", "DeserializeToObject", "Filter", "Generate", "MapElements", "MapInArrow"),
    *("MapInPandas", "MapPartitions", "Project", "RebalancePartitions", "Repartition"),
    *("RepartitionByExpression", "ResolvedHint", "Sample", "SerializeFromObject", "SubqueryAlias"),
    *("TypedFilter", "Union", "View"),
}


@dataclass(frozen=True, slots=True)
class Inputs:
    """Both sides: each a list of frames with the same columns."""

    left: tuple[DataFrame, ...]
    right: tuple[DataFrame, ...]

    def of(self, side: Side) -> tuple[DataFrame, ...]:
        """Return the frames of a side."""
        return self.left if side == "left" else self.right

    @property
    def session(self) -> SparkSession:
        """Return the session that they belong to."""
        return self.left[0].sparkSession

    @property
    def streaming(self) -> bool:
        """Tell whether they are streams."""
        return self.left[0].isStreaming


def read_inputs(left: object, right: object) -> Inputs:
    """Return both sides, or refuse what does not go together."""
    inputs = Inputs(_frames("left", left), _frames("right", right))
    everyone = {name: one for side in SIDES for name, one in _numbered(side, inputs.of(side)).items()}
    streams = {name: one.isStreaming for name, one in everyone.items()}
    if len(set(streams.values())) > 1:
        first = next(name for name, is_stream in streams.items() if is_stream)
        other = next(name for name, is_stream in streams.items() if not is_stream)
        message = (
            f"both sides must be streams or both tables; got a stream as `{first}`, a table as `{other}`."
        )
        raise InputError(message, "read both with spark.readStream, or both with spark.read")
    return inputs


def _numbered(side: Side, frames: Sequence[DataFrame]) -> dict[str, DataFrame]:
    if len(frames) == 1:
        return {side: frames[0]}
    return {f"{side}[{at}]": frame for at, frame in enumerate(frames)}


def _frames(side: Side, given: object) -> tuple[DataFrame, ...]:
    frames = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not frames:
        message = f"`{side}` must hold at least one DataFrame; got an empty {type(given).__name__}."
        raise InputError(message, "for an empty side give a DataFrame without rows")
    for name, frame in _numbered(side, frames).items():
        if isinstance(frame, ClassicDataFrame):
            continue
        if isinstance(frame, DataFrame):
            message = f"`{name}` is a DataFrame of Spark Connect, which weft does not join yet."
            raise NotYetError(message, "use a classic session: weft.spark.session()")
        message = f"`{name}` must be a PySpark DataFrame, as the other input is; got {named(frame)}."
        raise InputError(message, "spark.createDataFrame(...) makes one of a pandas frame or an Arrow table")
    first, *others = _numbered(side, frames).items()
    for other in others:
        _check_alike(first, other)
    return frames


def _check_alike(first: tuple[str, DataFrame], other: tuple[str, DataFrame]) -> None:
    (model, wanted), (name, frame) = first, other
    were, are = ([(field.name, field.dataType) for field in one.schema] for one in (wanted, frame))
    if were != are:
        columns = ", ".join(f"{column} {kind.simpleString()}" for column, kind in were)
        got = ", ".join(f"{column} {kind.simpleString()}" for column, kind in are)
        message = f"`{name}` must have the columns of `{model}`: {columns}; got {got}."
        raise InputError(message, f"{name}.select(...) and cast what differs")


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the columns as Arrow has them; what does not travel by Arrow is null (see `check_travels`)."""
    return pa.schema([pa.field(field.name, _arrow_type(field) or pa.null()) for field in schema])


def _arrow_type(field: StructField) -> pa.DataType | None:
    if sized(field):
        return pa.string()
    try:
        return to_arrow_type(field.dataType, timezone="UTC")
    except (PySparkException, TypeError, ValueError):
        return None


def check_travels(side: Side, schema: StructType, places: Sequence[int]) -> None:
    """Refuse columns that the join needs and Arrow does not carry."""
    for field in (schema[place] for place in places):
        if _arrow_type(field) is None:
            got = f"{side} {shown(field.name)} ({field.dataType.simpleString()})"
            message = f"a column must be of a type that travels by Arrow; got {got}."
            raise InputError(
                message, "cast it to a plainer type, such as string, or leave it out of columns=[...]"
            )


def check_collation(side: Side, schema: StructType, keys: Sequence[int]) -> None:
    """Refuse text that Spark compares otherwise than by its bytes."""
    for field in (schema[place] for place in keys):
        kind = field.dataType
        if isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
            got = f"{side} {shown(field.name)} ({kind.simpleString()})"
            message = f"a key of text must be compared by its bytes, UTF8_BINARY; got {got}."
            raise InputError(
                message, 'write F.collate(column, "UTF8_BINARY"), of F.lower(column) if case is none'
            )


def delays(frames: Sequence[DataFrame], column: int) -> list[int | None]:
    """Return the delay, in milliseconds, that each frame's own watermark on a column has."""
    return [frame.schema[column].metadata.get(DELAY) for frame in frames]


def without_watermark(frame: DataFrame) -> DataFrame:
    """Return a stream whose plan defines no watermark: a second one, on the result, would be refused.

    What stands before the join and keeps state of its own (a deduplication, an aggregation) keeps its own.
    """
    classic: Any = frame
    session = classic.sparkSession
    jvm: Any = session._jvm
    plan, found = _stripped(jvm, classic._jdf.queryExecution().logical())
    if not found:
        return frame
    rows = jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan)
    return ClassicDataFrame(rows, session)


def _stripped(jvm: Any, node: Any) -> tuple[Any, bool]:
    """Return a plan without the nodes that define watermarks for the join, and whether there was one."""
    name = node.getClass().getSimpleName()
    if name != WATERMARK and name not in STATELESS:
        return node, False
    children = node.children()
    parts = [_stripped(jvm, children.apply(at)) for at in range(children.size())]
    if name == WATERMARK:
        return parts[0][0], True
    if not any(found for _, found in parts):
        return node, False
    return node.withNewChildren(jvm.PythonUtils.toSeq([child for child, _ in parts])), True


def selected(frame: DataFrame, places: Sequence[int]) -> DataFrame:
    """Return some columns of a frame; all renamed where one has a name that PySpark stumbles over."""
    fields = [frame.schema[place] for place in places]
    plain = all(field.name.isidentifier() and not sized(field) for field in fields)
    return frame.select(*(_column(field, None if plain else f"c{at}") for at, field in enumerate(fields)))


def _column(field: StructField, name: str | None) -> Column:
    quoted = field.name.replace("`", "``")
    column = F.col(f"`{quoted}`")
    if sized(field):
        column = column.cast("string")
    return column if name is None else column.alias(name)


def sized(field: StructField) -> bool:
    """Tell whether a column is text of a fixed or bounded length: text to Arrow, and in the result."""
    return isinstance(field.dataType, CharType | VarcharType)
