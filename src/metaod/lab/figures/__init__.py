"""The figures of an evaluation, one file each; matplotlib is an extra, imported when drawing."""
