"""The command line: `weft bench`, `weft doctor`. A file a command; typer and rich live here and nowhere else."""

import sys

NEEDED = {"typer", "rich", "psutil"}


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from weft.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        sys.exit(f"the weft command needs {error.name}, which is not installed.\n\nHint: pip install 'weft[cli]'")
    app()
