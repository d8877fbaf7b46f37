"""How long `import weft` takes in a fresh process, the interpreter's own start left out."""

from __future__ import annotations

from bench.model import Figure, Setting, Trial, Workload
from bench.workloads.fresh import python

SCRIPT = """
from time import perf_counter
start = perf_counter()
import weft
print(perf_counter() - start)
"""


def job(_setting: Setting) -> Trial:
    """One repetition is one process."""

    def measure() -> dict[str, float]:
        return {"import weft": float(python(SCRIPT))}

    def warm() -> None:
        measure()

    return Trial(0, warm, measure)


IMPORT_TIME = Workload(
    name="import-time",
    summary="`import weft` in a fresh process",
    jobs={"weft": job},
    figures=(Figure("import weft", "s", "lower", 0.3, 0.1),),
    sized=False,
)
