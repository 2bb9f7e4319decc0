"""The canonical form of numbers: an int if it is whole, else a float if one is equal to it, else a fraction.

Python compares numbers of all its types by their exact value, and gives equal ones equal hashes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from penstock.foundation.keys.forms import Refused, Tagged

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

__all__ = ["of_complex", "of_decimal", "of_float", "of_fraction", "of_long_double", "refuse_nan"]

_MOST_DIGITS = 10_000
"""A decimal number with more digits than this, written out, is refused: comparing it could take all memory."""


def of_float(key: float) -> Any:
    """Return an int or a float."""
    number = float.__float__(key)
    if number != number:
        refuse_nan(key)
    return int(number) if number.is_integer() else number


def of_complex(key: complex) -> Any:
    """Return a number, or two where there is an imaginary part."""
    real, imaginary = of_float(key.real), of_float(key.imag)
    return Tagged("complex", (real, imaginary)) if imaginary else real


def of_decimal(key: Decimal) -> Any:
    """Return an int, a float or a fraction."""
    if key.is_nan():
        refuse_nan(key)
    if key.is_infinite():
        return math.inf if key > 0 else -math.inf
    exponent: Any = key.as_tuple().exponent
    if abs(exponent) > _MOST_DIGITS or abs(key.adjusted()) > _MOST_DIGITS:
        why = f"is a Decimal of more than {_MOST_DIGITS} digits"
        raise Refused(key, why, "Return str(...) of it, or a smaller number.")
    return _of_ratio(*key.as_integer_ratio())


def of_fraction(key: Fraction) -> Any:
    """Return an int, a float or a fraction."""
    return _of_ratio(key.numerator, key.denominator)


def of_long_double(key: Any) -> Any:
    """Return an int, a float or a fraction."""
    if key != key:
        refuse_nan(key)
    number = float(key)
    return of_float(number) if math.isinf(number) or number == key else _of_ratio(*key.as_integer_ratio())


def refuse_nan(key: Any) -> None:
    """Explain that a value which is not equal to itself is no key.

    Raises:
        Refused: Always.
    """
    why = "is not equal to itself: every record with it would have a key of its own"
    remedy = "Return another value for records without one, None for example, or filter them out before."
    raise Refused(key, why, remedy)


def _of_ratio(numerator: int, denominator: int) -> Any:
    if denominator == 1:
        return int(numerator)
    try:
        number = numerator / denominator
    except OverflowError:
        number = math.nan
    if math.isfinite(number) and number.as_integer_ratio() == (numerator, denominator):
        return number
    return Tagged("fraction", (int(numerator), int(denominator)))
