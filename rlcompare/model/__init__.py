"""What the parts hand to each other: frozen dataclasses without behaviour."""
