"""What the JVM does while batches run: samples of its threads by Java's own recorder, by whose work it is."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

EVERY = 10  # milliseconds between two looks at a thread
# Whose work a thread does: that of the innermost frame with one of these in the name of its class or method.
# Spark pulls rows, so what stands further out only waits for what stands further in.
OWNERS = (
    ("observe", ("AggregatingAccumulator", "CollectMetrics")),
    ("rows into Arrow", ("ArrowWriter", "PythonArrowInput", "ArrowFieldWriter")),
    ("Arrow into rows", ("ArrowColumnVector", "ColumnarBatch", "ArrowStreamReader", "PythonArrowOutput")),
    ("Parquet", ("parquet", "Parquet", "snappy", "Snappy", "OnHeapColumnVector", "WritableColumnVector")),
    ("shuffle", ("shuffle", "Shuffle", "LZ4", "lz4")),
    ("state store", ("RocksDB", "StateStore", "statefulprocessor", "TransformWithState")),
    ("sink", ("WriteToDataSourceV2", "DataWritingSparkTask", "NoopWriter", "NoopStreamingDataWriter")),
    ("planning and log", ("MicroBatchExecution", "StreamExecution", "DAGScheduler")),
)


@contextmanager
def recorded(spark: SparkSession, path: Path) -> Iterator[None]:
    """Record what threads do while the block runs."""
    java: Any = spark.sparkContext._jvm
    recording = java.jdk.jfr.Recording()
    recording.enable("jdk.ExecutionSample").withPeriod(java.java.time.Duration.ofMillis(EVERY))
    recording.start()
    try:
        yield
    finally:
        recording.stop()
        recording.dump(java.java.nio.file.Paths.get(str(path.parent), java_names(spark, path.name)))
        recording.close()


def java_names(spark: SparkSession, *names: str) -> Any:
    """Return names as Java's array of strings."""
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(gateway.jvm.java.lang.String, len(names))
    for at, name in enumerate(names):
        array[at] = name
    return array


def shares(spark: SparkSession, path: Path) -> tuple[Counter[str], Counter[str]]:
    """Return how many samples are of each owner, and of each owner's innermost method."""
    java: Any = spark.sparkContext._jvm
    place = java.java.nio.file.Paths.get(str(path.parent), java_names(spark, path.name))
    owners: Counter[str] = Counter()
    methods: Counter[str] = Counter()
    for event in java.jdk.jfr.consumer.RecordingFile.readAllEvents(place):
        trace = event.getStackTrace()
        if event.getEventType().getName() == "jdk.ExecutionSample" and trace is not None:
            owner, innermost = looked_at(trace.getFrames())
            owners[owner] += 1
            methods[f"{owner}: {innermost}"] += 1
    return owners, methods


def looked_at(frames: Any) -> tuple[str, str]:
    """Return whose work a stack is, and its innermost method."""
    innermost = ""
    for frame in frames:
        method = frame.getMethod()
        name = f"{method.getType().getName()}.{method.getName()}"
        innermost = innermost or name.rpartition("/")[2]
        for owner, marks in OWNERS:
            if any(mark in name for mark in marks):
                return owner, innermost
    return "other", innermost
