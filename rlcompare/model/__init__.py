"""Data that the parts exchange: frozen dataclasses without behaviour."""
