"""Tools for models that call tools natively: what is usual in one call, which proves and shows its steps."""
