"""Compiled loops: arrays in, arrays out. The only room that knows numba."""
