"""What a join means: `JoinSpec`, and `join_spec`, which reads the arguments of a call into one.

Everything that can be refused without having seen a column is refused here; the rest in `edge/binding.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from weft.errors import NotYetError, SpecError, listed, nearest, refusal, shown
from weft.spans import Span, parse_span
from weft.types import ALLOWED, SIDES, WORKS_NOW, Algorithm, Closed, Engine, How, Late, Pattern, Pick, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import UnionType

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSpec:
    """One interval join: rows with equal keys and lower <= right.time - left.time <= upper."""

    on: tuple[tuple[str, str], ...]
    left_time: str
    right_time: str
    lower: Span
    upper: Span
    closed: Closed
    how: How
    pick: Pick
    columns: tuple[str, ...] | None
    suffixes: tuple[str, str]
    lateness: tuple[Span, Span] | None
    late: Late
    idle: tuple[Span | None, Span | None]
    sources: tuple[int, int]
    pattern: Pattern
    replicas: int | None
    algorithm: Algorithm
    engine: Engine
    where: None = None
    order_by: None = None

    def time_of(self, side: Side) -> str:
        """Return the name of a side's time column."""
        return self.left_time if side == "left" else self.right_time

    def keys_of(self, side: Side) -> tuple[str, ...]:
        """Return the names of a side's key columns."""
        return tuple(pair[SIDES.index(side)] for pair in self.on)

    def identity(self) -> dict[str, Any]:
        """Return what decides the meaning, as JSON values; lateness, late, idle may change at restore."""
        return {
            "on": [list(pair) for pair in self.on],
            "times": [self.left_time, self.right_time],
            "lower": [self.lower.value, self.lower.unit],
            "upper": [self.upper.value, self.upper.unit],
            "closed": self.closed,
            "how": self.how,
            "columns": None if self.columns is None else list(self.columns),
            "suffixes": list(self.suffixes),
            "sources": list(self.sources),
        }


def join_spec(
    *,
    lower: object,
    upper: object,
    on: object = None,
    time: object = None,
    left_time: object = None,
    right_time: object = None,
    closed: object = "both",
    how: object = "inner",
    pick: object = "all",
    where: object = None,
    columns: object = None,
    suffixes: object = ("", "_right"),
    lateness: object = None,
    late: object = "drop",
    idle: object = None,
    sources: object = (1, 1),
    order_by: object = None,
    pattern: object = "auto",
    replicas: object = None,
    algorithm: object = "auto",
    engine: object = "auto",
) -> JoinSpec:
    """Return the spec of a call, or refuse the first argument that is wrong."""
    left, right = _times(time, left_time, right_time)
    low, high = _interval(lower, upper)
    allowed, silence = _progress(lateness, idle, upper, high)
    _absent(where, "where", str, "SQL text or None", "leave it out and filter the result")
    _absent(order_by, "order_by", str | list, "a column, a list of columns or None", "leave it out")
    return JoinSpec(
        on=_keys(on),
        left_time=left,
        right_time=right,
        lower=low,
        upper=high,
        closed=_choice("closed", closed),
        how=_choice("how", how),
        pick=_pick(pick),
        columns=_columns(columns),
        suffixes=_suffixes(suffixes),
        lateness=allowed,
        late=_choice("late", late),
        idle=silence,
        sources=_sources(sources),
        pattern=_choice("pattern", pattern),
        replicas=_replicas(replicas),
        algorithm=_choice("algorithm", algorithm),
        engine=_choice("engine", engine),
    )


def _choice(name: str, value: object) -> Any:
    """Return one of an argument's names as it is; the literal types of `JoinSpec` are these same tables."""
    works = WORKS_NOW[name]
    if not isinstance(value, str) or value not in ALLOWED[name]:
        near = nearest(value, works) if isinstance(value, str) else None
        raise refusal(value, f"`{name}`", listed(ALLOWED[name]), f'write {name}="{near or works[0]}"')
    if value not in works:
        raise _not_yet(value, name, f'write {name}="{works[0]}"')
    return value


def _not_yet(value: object, name: str, hint: str) -> NotYetError:
    return NotYetError(f"`{name}={shown(value)}` is not there yet.", hint)


def _pair(value: object) -> Sequence[Any] | None:
    """Return what is one value for each side; None for anything else."""
    return value if isinstance(value, list | tuple) and len(value) == len(SIDES) else None


def _strings(values: Sequence[Any] | None) -> bool:
    return values is not None and all(isinstance(value, str) for value in values)


def _repeated(values: Sequence[T]) -> list[T]:
    return [value for value in values if values.count(value) > 1]


def _keys(on: object) -> tuple[tuple[str, str], ...]:
    if on is None:
        return ()
    items = [on] if isinstance(on, str) else on
    if not isinstance(items, list | tuple) or not items:
        hint = 'write on="key", on=["key", "other"] or on=[("left_key", "right_key")]; on=None is time alone'
        raise refusal(on, "`on`", "a column, a list of columns, a list of (left, right) pairs or None", hint)
    if isinstance(on, tuple) and any(isinstance(item, str) for item in on):
        names = ", ".join(map(shown, on))
        hint = f"write on=[{names}] for columns that both sides have, on=[({names})] for one of each side"
        raise refusal(on, "`on`", "a list, as a tuple of names may mean two things", hint)
    pairs = tuple(_key(item) for item in items)
    if _repeated(pairs):
        raise refusal(on, "`on`", "without repetition", "name each key once")
    return pairs


def _key(item: object) -> tuple[str, str]:
    if isinstance(item, str):
        return item, item
    if (pair := _pair(item)) and _strings(pair):
        return pair[0], pair[1]
    hint = 'write on=["key"] or on=[("left_key", "right_key")]'
    raise refusal(item, "an item of `on`", "a column's name or a pair of names, (left, right)", hint)


def _times(time: object, left_time: object, right_time: object) -> tuple[str, str]:
    given = {"time": time, "left_time": left_time, "right_time": right_time}
    given = {name: value for name, value in given.items() if value is not None}
    if set(given) not in ({"time"}, {"left_time", "right_time"}):
        came = " and ".join(f"{name}={shown(value)}" for name, value in given.items()) or "none of them"
        message = f"`time` must be given, or both `left_time` and `right_time`; got {came}."
        raise SpecError(message, 'write time="ts", or left_time="ts" and right_time="seen_at"')
    for name, value in given.items():
        if not isinstance(value, str):
            hint = 'write time="ts"; names that differ are left_time="ts" and right_time="seen_at"'
            raise refusal(value, f"`{name}`", "a column's name", hint)
    left, *rest = (str(value) for value in given.values())
    return left, (rest or [left])[0]


def _interval(lower: object, upper: object) -> tuple[Span, Span]:
    low, high = parse_span("lower", lower), parse_span("upper", upper)
    _one_kind("lower", lower, low, upper, high)
    if low.value > high.value:
        message = f"`lower` must not exceed `upper`; got lower={shown(lower)}, upper={shown(upper)}."
        raise SpecError(message, f"swap them: lower={shown(upper)}, upper={shown(lower)}")
    return low, high


def _one_kind(name: str, value: object, span: Span, upper: object, high: Span) -> None:
    """Refuse a plain integer beside a duration: the interval and the lateness are over the same times."""
    if span.unit == high.unit:
        return
    kind = "a duration" if high.unit == "ns" else "an integer"
    wrong, ticks = (name, span) if span.unit == "ticks" else ("upper", high)
    message = f"`{name}` must be {kind}, as `upper` is; got {name}={shown(value)}, upper={shown(upper)}."
    raise SpecError(message, f'write {wrong}="{ticks}s"; integers are for integer time columns')


def _progress(
    lateness: object, idle: object, upper: object, high: Span
) -> tuple[tuple[Span, Span] | None, tuple[Span | None, Span | None]]:
    def length(name: str, value: object, side: Side | None) -> Span:
        if value is None:
            hint = f'write {name}=("10 s", "10 s"), or one value for both'
            raise refusal(value, f"`{name}` of the {side}", "given where the other side's is", hint)
        span = parse_span(name, value, side)
        _one_kind(name, value, span, upper, high)
        if span.value < 0:
            subject = f"`{name}` of the {side}" if side else f"`{name}`"
            raise refusal(value, subject, "0 or more", f"write {name}={Span(-span.value, span.unit).code()}")
        return span

    def silence(name: str, value: object, side: Side | None) -> Span | None:
        return None if value is None else length(name, value, side)

    allowed = None if lateness is None else _of_both("lateness", lateness, length)
    silent = _of_both("idle", idle, silence)
    for side, late, quiet in zip(SIDES, allowed or (), silent, strict=False):
        if quiet is not None and quiet.value < late.value:
            message = f"`idle` of the {side} must not be below its lateness; got {quiet}, below {late}."
            raise SpecError(message, f"write idle={late.code()} or more, or idle=None")
    return allowed, silent


def _of_both(name: str, value: object, read: Callable[[str, object, Side | None], T]) -> tuple[T, T]:
    """Read one value for both sides, or a pair of them."""
    if not isinstance(value, list | tuple):
        one = read(name, value, None)
        return one, one
    if not _pair(value):
        hint = f'write {name}="10 s" or {name}=("10 s", "1 min")'
        raise refusal(value, f"`{name}`", "one value or two, (left, right)", hint)
    return read(name, value[0], "left"), read(name, value[1], "right")


def _pick(value: object) -> Pick:
    if not isinstance(value, int) or isinstance(value, bool):
        picked: Pick = _choice("pick", value)
        return picked
    if value < 1:
        raise refusal(
            value, "`pick`", f"{listed(ALLOWED['pick'])}, or a number of at least 1", 'write pick="all"'
        )
    raise _not_yet(value, "pick", 'write pick="all"')


def _absent(value: object, name: str, kind: type | UnionType, allowed: str, hint: str) -> None:
    """Refuse an argument that has a meaning but no engine yet."""
    if value is None:
        return
    if not isinstance(value, kind):
        raise refusal(value, f"`{name}`", allowed, hint)
    raise _not_yet(value, name, hint)


def _columns(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        raise refusal(value, "`columns`", "a list of names", f"write columns=[{shown(value)}]")
    if not isinstance(value, list | tuple) or not value or not _strings(value):
        hint = 'write columns=["key", "ts"], or columns=None for all of them'
        raise refusal(value, "`columns`", "a list of at least one name, or None", hint)
    if _repeated(value):
        raise refusal(value, "`columns`", "without repetition", "name each column once")
    return tuple(value)


def _suffixes(value: object) -> tuple[str, str]:
    if (pair := _pair(value)) and _strings(pair):
        return pair[0], pair[1]
    raise refusal(value, "`suffixes`", "two texts, (left, right)", 'write suffixes=("", "_right")')


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _sources(value: object) -> tuple[int, int]:
    if (pair := _pair(value)) and all(_whole(count) for count in pair):
        return pair[0], pair[1]
    hint = "write sources=(2, 1) for two inputs on the left and one on the right"
    raise refusal(value, "`sources`", "two whole numbers of at least 1, (left, right)", hint)


def _replicas(value: object) -> int | None:
    if value is not None and not _whole(value):
        hint = "write replicas=1, or leave it out"
        raise refusal(value, "`replicas`", "a whole number of at least 1, or None", hint)
    return value if isinstance(value, int) else None


def in_one_process(spec: JoinSpec) -> JoinSpec:
    """Return a spec for a join in this process; refuse what only a cluster can do."""
    if spec.replicas is not None and spec.replicas > 1:
        raise _not_yet(spec.replicas, "replicas", "write replicas=1, or give PySpark DataFrames")
    return spec
