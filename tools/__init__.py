"""Checks and generators for this repository; not part of the package."""
