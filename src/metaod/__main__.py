"""``python -m metaod`` is the command ``metaod``."""

from metaod.cli.main import main

if __name__ == "__main__":
    main()
