"""Who drives an operator: in this process, one caller."""
