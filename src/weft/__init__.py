"""weft joins live streams."""

__version__ = "0.1.0"
