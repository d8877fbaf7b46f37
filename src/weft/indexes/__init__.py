"""What a side holds: a small mutable part and a few immutable sorted runs."""
