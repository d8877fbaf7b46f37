"""`weft doctor`: what breaks first runs, looked for before it does."""

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from weft.cli import checks, spark_checks
from weft.cli.checks import Check, Finding

CHECKS = checks.CHECKS | spark_checks.CHECKS
STYLES = {"ok": "green", "warn": "yellow", "wrong": "bold red"}


def examined(name: str, check: Check) -> Finding:
    """Return what a check found; a check that fails has found something too."""
    try:
        return check()
    except Exception as error:
        return Finding("wrong", f"the check failed: {type(error).__name__}: {error}", f"report it ({name})")


def doctor() -> None:
    """Look for what breaks first runs, and say for each what was found and what to do."""
    table = Table("what", "found", "", "what to do")
    verdicts = []
    for name, check in CHECKS.items():
        finding = examined(name, check)
        verdicts.append(finding.verdict)
        verdict = Text(finding.verdict, style=STYLES[finding.verdict])
        table.add_row(name, Text(finding.found), verdict, Text(finding.advice))
    Console().print(table)
    wrong, warned = verdicts.count("wrong"), verdicts.count("warn")
    typer.echo(f"{wrong} wrong, {warned} warnings, {len(verdicts) - wrong - warned} ok")
    raise typer.Exit(1 if wrong else 0)
