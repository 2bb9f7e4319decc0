"""Key/value settings of a job."""

from penstock.vocabulary.configuration import Configuration

__all__ = ["Configuration"]
