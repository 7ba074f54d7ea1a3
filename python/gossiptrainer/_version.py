"""The version of this package, which is that of the program `peer` that carries it."""

__version__ = "0.2.0"
