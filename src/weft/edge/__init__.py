"""Where data meets the engine: frames in and out, columns, keys, times, names, results."""
