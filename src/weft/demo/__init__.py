"""The parts of `weft demo`: traffic, the query, what was seen of it, the picture and the oracle.

What a newcomer runs first, and nothing that the rest of weft needs.
"""
