"""Key/value settings of a job."""

from penstock.vocabulary.settings.configuration import Configuration

__all__ = ["Configuration"]
