"""The command ``metaod``: thin; each command parses, calls and prints."""
