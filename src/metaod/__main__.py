"""``python -m metaod`` is the command ``metaod``."""

import sys


def main() -> None:
    """Run the command; an interruption while modules are loaded ends it without a traceback."""
    try:
        from metaod.cli.main import main as run  # noqa: PLC0415 - see above

        run()
    except KeyboardInterrupt:
        sys.stderr.write("metaod: error: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
