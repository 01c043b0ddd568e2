"""Mutators by structure: SQLite databases, tables (CSV), JSON, text, bytes, and files as a whole.

Each module has a function ``mutators(pattern)`` that gives mutators for the files that match a pattern.
"""
