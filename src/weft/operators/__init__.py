"""What a join does with a batch: match, insert, close, purge."""
