"""Machine words for kernels: unchecked element access, 64-byte copies, bit counts.

numba compiles `a[i]` with a signed index to a test for negative numbers (40 % in the probe);
helpers that take arrays cost 55 ns a call in a hot loop. Intrinsics cost neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

if TYPE_CHECKING:
    from collections.abc import Callable

WIDE = ir.VectorType(ir.IntType(64), 8)

# To a kernel Python's and numpy's integers are one type, to mypy they are not.
int64: Any = np.int64


def machine(function: Callable[..., Any]) -> Any:
    """Make an intrinsic: kernels call it without the first parameter, which only numba gives."""
    return intrinsic(function)


@machine
def at(typingctx: Any, array: Any, index: Any) -> Any:
    """Return array[index], unchecked and never from the end."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = arrayobj.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(data, [args[1]]))

    return array.dtype(array, types.int64), codegen


@machine
def put(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Set array[index] = value, unchecked and never from the end."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = arrayobj.make_array(signature.args[0])(context, builder, args[0]).data
        builder.store(args[2], builder.gep(data, [args[1]]))
        return context.get_dummy_value()

    return types.void(array, types.int64, array.dtype), codegen


def _wide(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, WIDE.as_pointer())


@machine
def copy64(typingctx: Any, to: Any, source: Any) -> Any:
    """Copy the 64 bytes at address `source` to address `to`; neither need be aligned."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(builder.load(_wide(builder, args[1]), align=1), _wide(builder, args[0]), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@machine
def splat64(typingctx: Any, to: Any, even: Any, odd: Any) -> Any:
    """Write even, odd, even, odd, ... (eight words) to address `to`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.Constant(WIDE, ir.Undefined)
        for lane in range(8):
            wide = builder.insert_element(wide, args[1 + lane % 2], ir.Constant(ir.IntType(32), lane))
        builder.store(wide, _wide(builder, args[0]), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64, types.uint64), codegen


def _loader(bits: int, kind: Any) -> Any:
    @machine
    def load(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load(builder.inttoptr(args[0], ir.IntType(bits).as_pointer()), align=1)

        return kind(types.int64), codegen

    return load


def _storer(bits: int, kind: Any) -> Any:
    @machine
    def store(typingctx: Any, address: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.store(args[1], builder.inttoptr(args[0], ir.IntType(bits).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, kind), codegen

    return store


# Values at an address, which need not be aligned.
word = _loader(64, types.uint64)
byte = _loader(8, types.uint8)
load8 = _loader(64, types.int64)
load4 = _loader(32, types.int32)
store8 = _storer(64, types.int64)
store4 = _storer(32, types.int32)
store1 = _storer(8, types.uint8)


@machine
def ones(typingctx: Any, bits: Any) -> Any:
    """Return how many bits of a word are set."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@machine
def lowest(typingctx: Any, bits: Any) -> Any:
    """Return the position of a word's lowest set bit; the word must not be 0."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], cgutils.true_bit)

    return types.int64(types.uint64), codegen


@machine
def prefetch(typingctx: Any, address: Any) -> Any:
    """Ask for the cache line at an address, which need not be one that may be read."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [builder.inttoptr(args[0], pointer), number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(types.int64), codegen


@machine
def let_go(typingctx: Any, release: Any, array: Any) -> Any:
    """Call the release function of an exported Arrow array: void (*release)(array*)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer]).as_pointer()
        builder.call(builder.inttoptr(args[0], function), [builder.inttoptr(args[1], pointer)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


def _prefix(predicate: str) -> Any:
    @machine
    def prefix(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = arrayobj.make_array(signature.args[0])(context, builder, args[0]).data
            eight = builder.load(builder.bitcast(builder.gep(data, [args[1]]), WIDE.as_pointer()), align=8)
            lane = ir.IntType(32)
            one = builder.insert_element(ir.Constant(WIDE, ir.Undefined), args[2], ir.Constant(lane, 0))
            all_ = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(lane, 8), [0] * 8))
            misses = builder.not_(builder.bitcast(builder.icmp_signed(predicate, eight, all_), ir.IntType(8)))
            stop = builder.or_(builder.zext(misses, ir.IntType(64)), ir.Constant(ir.IntType(64), 256))
            return builder.cttz(stop, cgutils.true_bit)

        return types.int64(array, types.int64, types.int64), codegen

    return prefix


# How many of the eight values from array[index] on are below (not above) `value`, up to the first that is
# not: one compare instead of a loop whose end the processor cannot guess (22 ns a probe row before, 8 after).
below8 = _prefix("<")
upto8 = _prefix("<=")
