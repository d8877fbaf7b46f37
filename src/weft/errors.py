"""What weft refuses, and the words it refuses with: a message says what came, where, and what is allowed."""

from __future__ import annotations

import difflib
import reprlib
from typing import TYPE_CHECKING, TypedDict, Unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

WIDEST = 80  # characters of one value in a message
MOST = 30  # names of one list in a message

_REPR = reprlib.Repr()
_REPR.maxother = WIDEST


class WeftError(Exception):
    """The base of everything weft raises on purpose.

    WeftError
    ├── SpecError         an argument of the call is wrong (also a ValueError)
    │   └── NotYetError   part of the interface that is not there yet (also a NotImplementedError)
    ├── InputError        a frame, a schema or a value does not fit (also a ValueError)
    │   ├── ColumnError   a column is not there
    │   └── LateRowError  a row below the watermark met late="fail"
    ├── FinishedError     a push to an input that has finished (also a RuntimeError)
    └── StateError        a snapshot that can't be restored (also a ValueError)

    `message` says what came, where, and what is allowed; `hint` says what to write instead.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep the message and the hint apart, so that tools can show them apart."""
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Return the message, then the hint in a paragraph of its own."""
        return f"{self.message}\n\nHint: {self.hint}" if self.hint else self.message


class SpecError(WeftError, ValueError):
    """An argument of the call is wrong, whatever the data."""


class NotYetError(SpecError, NotImplementedError):
    """Part of the interface, but not there yet."""


class InputError(WeftError, ValueError):
    """A frame, a schema or a value does not fit the call."""


class ColumnError(InputError):
    """A column that the call names is not there."""


class LateDetails(TypedDict, total=False):
    """What is known of a late row."""

    side: str
    source: int
    key: tuple[object, ...]
    time: object
    lateness: object


class LateRowError(InputError):
    """A row lies below the watermark and `late="fail"`; nothing of its batch was taken."""

    side: str
    source: int
    key: tuple[object, ...]
    time: object
    lateness: object

    def __init__(self, message: str, hint: str = "", **details: Unpack[LateDetails]) -> None:
        """Keep the details as attributes: side, source, key, time and by how much the row is late."""
        super().__init__(message, hint)
        self.__dict__.update(details)


class FinishedError(WeftError, RuntimeError):
    """An input or the whole operator has finished and takes no more."""


class StateError(WeftError, ValueError):
    """A snapshot is of another spec or version, cut short or damaged."""


def refusal(got: object, subject: str, allowed: str, hint: str) -> SpecError:
    """Return the error for one wrong argument: `subject` must be what is allowed; got this."""
    return SpecError(f"{subject} must be {allowed}; got {shown(got)}.", hint)


def shown(value: object) -> str:
    """Return a value as a message shows it: as code, on one line, cut where it is long."""
    if isinstance(value, str):
        return f'"{_cut(repr(value)[1:-1])}"'
    try:
        text = _REPR.repr(value)
    except ValueError:  # Python refuses to print an integer of more than 4300 digits
        return f"a very long {type(value).__name__}"
    return f"a {type(value).__name__}" if "\n" in text else _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def listed(names: Iterable[str], last: str = "or", form: Callable[[str], str] = shown) -> str:
    """Return names as a message lists them: "a", "b" or "c"."""
    *most, end = [form(name) for name in names]
    if len(most) >= MOST:
        most, end = most[: MOST - 1], f"{len(most) - MOST + 2} more"
    return f"{', '.join(most)} {last} {end}" if most else end


def nearest(name: str, names: Sequence[str]) -> str | None:
    """Return the name that was most likely meant, whatever its case; None where none is close."""
    folded = {known.casefold(): known for known in reversed(names)}
    close = difflib.get_close_matches(name[:WIDEST].casefold(), folded, n=1, cutoff=0.5)
    return folded[close[0]] if close else None
