"""Reports what this machine can collect and read, why not, and what to install.

``machine`` gathers facts, ``advice`` draws conclusions. Tests can replace the facts by those of another machine.
"""
