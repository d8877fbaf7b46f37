"""The commands by name."""

from typing import Annotated

import typer

import weft
from weft.cli.bench import bench
from weft.cli.demo import demo
from weft.cli.doctor import doctor

app = typer.Typer(
    name="weft", help="Exact, fast joins of live streams.", no_args_is_help=True, add_completion=False
)
app.command()(bench)
app.command()(demo)
app.command()(doctor)


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"weft {weft.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Exact, fast joins of live streams."""
