"""The command line: `weft bench`, `weft doctor`; a file a command, typer and rich here and nowhere else."""

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
        sys.exit(f"The command line needs {library}, which is missing.\n\nHint: pip install 'weft[cli]'")
    app()
