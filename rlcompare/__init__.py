"""rlcompare: did a change make an RL training step slower or less stable, by how much, and why?"""

__version__ = "0.1.0"
