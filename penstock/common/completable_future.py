"""A result that is not there yet."""

from penstock.vocabulary.job import CompletableFuture

__all__ = ["CompletableFuture"]
