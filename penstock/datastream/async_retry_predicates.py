"""Tests of asynchronous outcomes, at the place PyFlink gives them."""

from penstock.vocabulary.functions.async_retry import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = [
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]
