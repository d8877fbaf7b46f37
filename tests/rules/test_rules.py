"""Every rule of `scripts/check` fails on a tree that breaks it and is silent on one that keeps it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from scripts.check import bounds, docs, doctests, imports, lazy, links, names, sizes, statements, tables
from scripts.check.__main__ import RULES, main

Rule = Callable[[Path], Iterator[str]]
PYPROJECT = """
[build-system]
requires = []
[project]
dependencies = ["numpy>=2.0"]
[project.optional-dependencies]
all = ["weft[x]", "rich{bound}"]
"""


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def kernel(body: int, parameters: str = "") -> str:
    return f"def f({parameters}):\n    '''Doc.\n\n    More.\n    '''\n" + "    x = 1\n" * body


BROKEN: dict[str, tuple[Rule, dict[str, str], str]] = {
    "an arrow that points right": (
        imports.violations,
        {"src/weft/edge/a.py": "from weft.plan import Plan\n", "src/weft/plan.py": ""},
        "edge may not import weft.plan",
    ),
    "an arrow inside a function": (
        imports.violations,
        {"src/weft/spec.py": "def f():\n    import weft.kernels.order\n", "src/weft/kernels/order.py": ""},
        "src/weft/spec.py:2: spec may not import weft.kernels.order",
    ),
    "a relative arrow": (
        imports.violations,
        {"src/weft/edge/a.py": "from ..operators import match\n", "src/weft/operators/match.py": ""},
        "edge may not import weft.operators",
    ),
    "a relative arrow to a room by its alias": (
        imports.violations,
        {"src/weft/edge/a.py": "from .. import operators\n", "src/weft/operators/match.py": ""},
        "edge may not import weft.operators",
    ),
    "an arrow to the package's top": (
        imports.violations,
        {"src/weft/edge/a.py": "from weft import interval_join\n"},
        "edge may not import weft.interval_join",
    ),
    "an arrow into spark from below": (
        imports.violations,
        {"src/weft/runtimes/a.py": "from weft.spark import plan\n", "src/weft/spark/plan.py": ""},
        "runtimes may not import weft.spark",
    ),
    "numba outside kernels": (
        imports.violations,
        {"src/weft/indexes/a.py": "from numba import njit\n"},
        "numba may only be imported in kernels",
    ),
    "rich outside cli": (imports.violations, {"src/weft/api.py": "import rich.table\n"}, "rich may only"),
    "pyspark outside spark": (imports.violations, {"src/weft/api.py": "import pyspark.sql\n"}, "in spark"),
    "a web library": (imports.violations, {"src/weft/api.py": "import fastapi\n"}, "in cli, dashboard"),
    "a kernel that knows more than arrays": (
        imports.violations,
        {"src/weft/kernels/a.py": "import pyarrow as pa\n"},
        "arrays only",
    ),
    "a new room": (imports.violations, {"src/weft/attic/a.py": ""}, "attic is no known room"),
    "a heavy import behind another module": (
        lazy.violations,
        {"src/weft/__init__.py": "from weft import api\n", "src/weft/api.py": "import numpy\n"},
        "import weft loads numpy",
    ),
    "pyspark behind a light room": (
        lazy.violations,
        {
            "src/weft/__init__.py": "",
            "src/weft/spark/__init__.py": "from weft.spark import a\n",
            "src/weft/spark/a.py": "import pyspark\n",
        },
        "import weft.spark loads",
    ),
    "a package that does not import": (
        lazy.violations,
        {"src/weft/__init__.py": "1 / 0\n"},
        "ZeroDivisionError",
    ),
    "a long file": (sizes.violations, {"bench/a.py": "x = 1\n" * 401}, "401 lines; at most 400"),
    "a long function": (sizes.violations, {"src/weft/a.py": kernel(41)}, "f has 41 lines; at most 40"),
    "a long kernel": (sizes.violations, {"src/weft/kernels/a.py": kernel(61)}, "61 lines; at most 60"),
    "a wide function": (
        sizes.violations,
        {"src/weft/a.py": f"class A:\n    def __init__(self, a, b, c, *d, e, f, **g):\n{' ' * 8}pass\n"},
        "A.__init__ has 7 parameters; at most 6",
    ),
    "an assert": (statements.violations, {"src/weft/a.py": "x = 1\nassert x\n"}, "src/weft/a.py:2: assert"),
    "a print": (statements.violations, {"src/weft/a.py": "print(1)\n"}, "print belongs in cli/"),
    "a bound nobody tests": (
        bounds.violations,
        {
            "pyproject.toml": PYPROJECT.replace("{bound}", ">=13"),
            "constraints.txt": "numpy==2.4.6\nrich==15.0\n",
            "constraints-lowest.txt": "numpy==2.1\nrich==13.0.0\n",
        },
        "numpy is 2.1; pyproject's bound is 2.0",
    ),
    "a requirement without a bound": (
        bounds.violations,
        {
            "pyproject.toml": PYPROJECT.replace("{bound}", ""),
            "constraints.txt": "numpy==2.4.6\n",
            "constraints-lowest.txt": "numpy==2.0.0\n",
        },
        "rich is not `name>=version`",
    ),
    "a constraint with an address": (
        bounds.violations,
        {
            "pyproject.toml": PYPROJECT.replace("{bound}", ">=13"),
            "constraints.txt": "numpy==2.4.6\nrich==15.0\n--find-links somewhere\n",
            "constraints-lowest.txt": "numpy==2.0.0\nrich==13.0\n",
        },
        "not an exact version: --find-links somewhere",
    ),
    "a link that leads nowhere": (
        links.violations,
        {"README.md": "# A\n[x](docs/b.md)\n"},
        "README.md:2: docs/b.md",
    ),
    "a link to no heading": (
        links.violations,
        {"README.md": "[x](docs/b.md#the-end)\n", "docs/b.md": "# The start\n"},
        "no such heading",
    ),
    "a block that fails": (
        docs.violations,
        {"docs/a.md": "\n```python\n1 / 0\n```\n"},
        "docs/a.md:3: Traceback",
    ),
    "a block that prints something else": (
        docs.violations,
        {"README.md": "```python\nx = 2\n```\n\n```python\nprint(x)\n```\n\n```text\n3\n```\n"},
        "the page says otherwise; printed was:\n2",
    ),
    "an unclosed table": (tables.violations, {"README.md": "<!-- generated: w1 -->\n1\n"}, "not closed"),
    "a table of nothing": (
        tables.violations,
        {"README.md": "<!-- generated: w1 -->\n1\n<!-- end generated -->\n"},
        "bench/results/w1.json is not there",
    ),
    "a README without a table": (tables.violations, {"README.md": "# weft\n"}, "no generated table"),
}
KEPT: dict[str, tuple[Rule, dict[str, str]]] = {
    "arrows that point left": (
        imports.violations,
        {
            "src/weft/operators/a.py": "import numpy\nfrom weft.kernels import order\nfrom . import b\n",
            "src/weft/operators/b.py": "from ..edge.frames import x\n",
            "src/weft/kernels/order.py": "import math\nfrom numba import njit\n",
            "src/weft/edge/frames.py": "import weft.spec\n",
            "src/weft/spark/a.py": "import pyspark\nfrom weft.operators import a\n",
            "src/weft/api.py": "from weft.spark import a\n",
            "src/weft/spec.py": "from weft.errors import SpecError\n",
            "src/weft/errors.py": "",
        },
    ),
    "sizes at their limits": (
        sizes.violations,
        {
            "src/weft/a.py": kernel(40, "a, b, c, d, e, f"),
            "src/weft/kernels/a.py": kernel(60),
            "src/weft/api.py": kernel(1, "a, b, c, d, e, f, g"),
        },
    ),
    "a print of the cli": (statements.violations, {"src/weft/cli/a.py": "print(1)\n"}),
    "a light package": (lazy.violations, {"src/weft/__init__.py": "def f():\n    import numpy\n"}),
    "links that lead somewhere": (
        links.violations,
        {
            "README.md": "[x](docs/b.md#the-start) [y](https://x.y/z)\n```text\n[z](nowhere.md)\n```\n",
            "docs/b.md": "# The *start*\n[up](../README.md)\n",
        },
    ),
    "blocks that print what the page says": (
        docs.violations,
        {
            "docs/a.md": "```python\nprint(1)\n```\n\n```text\n1\n```\n```text\n2\n```\n",
            "docs/b.md": "```python no-run\n1 / 0\n```\n",
        },
    ),
    "a page that shows a fence": (docs.violations, {"docs/a.md": "````text\n```python\n1 / 0\n```\n````\n"}),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_rule_is_reported(case: str, tmp_path: Path) -> None:
    rule, files, expected = BROKEN[case]
    assert expected in "\n".join(rule(plant(tmp_path, files)))


@pytest.mark.parametrize("case", KEPT)
def test_a_kept_rule_is_silent(case: str, tmp_path: Path) -> None:
    rule, files = KEPT[case]
    assert list(rule(plant(tmp_path, files))) == []


def test_a_table_that_differs_from_its_result_file_is_reported_and_rewritten(tmp_path: Path) -> None:
    page = "# weft\n<!-- generated: w1 -->\n| 1 |\n<!-- end generated -->\n"
    root = plant(tmp_path, {"README.md": page, "bench/results/w1.json": "2"})
    assert "make tables" in next(tables.stale(root, lambda path: f"| {path.read_text()} |\n"))
    fresh = tables.rendered(page, root / tables.RESULTS, lambda path: f"| {path.read_text()} |\n")
    plant(root, {"README.md": fresh})
    assert list(tables.stale(root, lambda path: f"| {path.read_text()} |\n")) == []


def test_public_names_are_listed_there_and_documented() -> None:
    module = ModuleType("weft")
    module.__path__ = []
    leftovers = "from typing import TYPE_CHECKING\n_x = math = 1\n"
    defined = "class A:\n    'Doc.'\n    def m(self): ...\n\ndef b(): ...\n\ndef c(): 'Doc.'\n"
    exec(leftovers + defined, vars(module))
    module.__all__ = ["A", "b", "gone"]
    assert list(names.faults(module)) == [
        "weft.__all__ lists gone, which is not there",
        "weft.c is public but not in __all__",
        "weft.math is public but not in __all__",
        "weft.A.m has no docstring",
        "weft.b has no docstring",
    ]


def test_names_a_module_only_imports_are_not_its_own() -> None:
    module = ModuleType("weft.stream")
    exec("from pathlib import Path\ndef b(): 'Doc.'\n", vars(module))
    module.b.__module__ = "weft.stream"
    module.__all__ = []
    assert list(names.faults(module)) == ["weft.stream.b is public but not in __all__"]


def test_an_example_in_a_docstring_that_gives_something_else_is_reported() -> None:
    module = ModuleType("planted")
    exec("def f():\n    '''Give.\n\n    >>> 1 + 1\n    3\n    '''\n", vars(module))
    module.f.__module__ = "planted"
    assert "Expected:\n    3\nGot:\n    2" in next(doctests.faults(module))


def test_the_runner_says_which_rules_are_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = plant(tmp_path, {"src/weft/a.py": "assert 1\n"})
    assert main(["statements"], root) == 1
    assert "statements: 1 violations" in capsys.readouterr().out
    assert main(["sizes"], root) == 0
    assert main(["nothing"], root) == 2
    assert "no rule nothing" in capsys.readouterr().out


def test_every_rule_program_is_in_the_table() -> None:
    folder = Path(main.__code__.co_filename).parent
    assert {path.stem for path in folder.glob("[!_]*.py")} - {"files"} == set(RULES)
