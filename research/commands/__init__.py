"""Commands of ``python -m research``: a file is a command."""
