"""The DuckDB file of one run: create it, fill it atomically, open it, and keep it in a cache."""
