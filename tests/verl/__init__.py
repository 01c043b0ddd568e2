"""Jobs of verl: its own configuration from its wheels, and a job in its place that writes what it would write."""
