"""What this machine can collect and read, why not, and what to install.

``machine`` looks, ``advice`` concludes: facts of a machine that is not here can be put into its place.
"""
