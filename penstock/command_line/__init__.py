"""The command ``penstock``: runs job scripts, finds and steers jobs that run, shows what a machine is missing."""

from penstock.command_line.main import main

__all__ = ["main"]
