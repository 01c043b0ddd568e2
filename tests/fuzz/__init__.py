"""Structure-aware mutation of everything that rlcompare reads.

``kind.py`` is the interface: a ``Kind`` writes a sound input, and its mutators damage a copy of it. ``engine.py`` draws
mutators by seed and runs the commands of the kind in a forked process with limits of time and memory. ``oracles.py``
says what must hold for every input, ``invariants.py`` what its numbers must not contradict. ``corpus.toml`` has the
inputs that once failed; ``test_fuzz.py`` replays them.

    python -m tests.fuzz.run --seeds 0-1999 --jobs 2
"""
