"""Arguments that are whole numbers or names."""

import operator

from ._errors import InvalidError

_MOST = 2**63 - 1


def whole(number, name, least=1):
    """The argument `name` as an int from `least` on; None, which stands for the default, stays None."""
    if number is None:
        return None
    try:
        taken = operator.index(number)
    except TypeError:
        raise TypeError(f"{name} is {number!r}, expected a whole number, or None") from None
    if taken < least:
        raise InvalidError(f"{name} is {taken}, expected {least} or more, or None")
    if taken > _MOST:
        raise OverflowError(f"{name} is {taken}, an int of 64 bits does not hold it")
    return taken


def one_of(choices, given, name):
    """The value in `choices` of the argument `name`. In names, an underscore stands for a hyphen."""
    key = given.replace("_", "-") if isinstance(given, str) else given
    if key not in list(choices):
        raise InvalidError(f"{name} is {given!r}, expected one of {', '.join(map(repr, choices))}")
    return choices[key]
