"""A source of a made-up format, as a contributor would write one: one module and its SQL, nothing else.

Its SQL lies beside it, because ``sql/`` holds only what is shipped; its headers follow the same rules.
"""
