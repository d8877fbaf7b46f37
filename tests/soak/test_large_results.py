"""Results larger than what 32-bit offsets reach: they come in several chunks, and whole."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import weft

pytestmark = [pytest.mark.soak, pytest.mark.timeout(0)]
ROWS, LENGTH = 3000, 300  # 9 M pairs, 2.7 GB of text


@pytest.mark.parametrize("nested", [False, True], ids=["strings", "lists"])
def test_more_text_than_one_array_holds_comes_in_several(nested: bool) -> None:
    words = pa.array([f"{at:>{LENGTH}}" for at in range(ROWS)])
    payload = pa.ListArray.from_arrays(pa.array(range(ROWS + 1), pa.int32()), words) if nested else words
    left = pa.table({"key": [1] * ROWS, "ts": [0] * ROWS, "p": payload})
    right = pa.table({"key": [1] * ROWS, "ts": range(ROWS)})
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=0, upper=ROWS, lateness=0)
    results = [weft.interval_join(left, right, on="key", time="ts", lower=0, upper=ROWS)]
    results.append(op.push(left=left, right=right))
    for result in results:
        result.validate()
        assert result.num_rows == ROWS * ROWS
        assert result.schema.field("p").type == payload.type
        texts = pc.list_flatten(result["p"]) if nested else result["p"]
        assert pc.min(pc.utf8_length(texts)).as_py() == LENGTH
        assert pc.sum(pc.cast(pc.utf8_trim_whitespace(texts), pa.int64())).as_py() == ROWS * sum(range(ROWS))
