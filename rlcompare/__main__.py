"""``python -m rlcompare``: the command, by a chosen interpreter, or under ``torchrun -m``."""

from rlcompare.cli.main import main

if __name__ == "__main__":
    main()
