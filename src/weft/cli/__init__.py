"""The command line: `weft demo`, `weft doctor`, `weft bench`; typer and rich here and nowhere else."""

import sys

NEEDED = {"typer", "rich", "psutil"}


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from weft.cli.app import app
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in NEEDED:
            raise
        extra = "demo" if sys.argv[1:2] == ["demo"] else "cli"
        sys.exit(f"The command line needs {library}, which is missing.\n\nHint: pip install 'weft[{extra}]'")
    app()
