"""relaybay: a local relay and board for many coding agents side by side. Holds the version and nothing else."""

__version__ = "0.1.0"
