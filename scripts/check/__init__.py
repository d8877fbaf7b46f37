"""The rules of the house, each a small program: `python -m scripts.check.NAME`.

`python -m scripts.check` runs them all. A rule is a function `violations(root)`, one line of text each.
"""
