"""The built-in detector families, one file each; ``models/_registry.py`` names them."""
