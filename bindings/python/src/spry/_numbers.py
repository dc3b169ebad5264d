"""Arguments that are whole numbers or names."""

import operator

from ._errors import InvalidError

_MOST = 2**63 - 1


def whole(number, name, least=1):
    """Returns the argument `name` as an int of at least `least`. None, the default, is returned unchanged."""
    if number is None:
        return None
    try:
        taken = operator.index(number)
    except TypeError:
        raise TypeError(f"{name} is {number!r}, expected a whole number, or None") from None
    if taken < least:
        raise InvalidError(f"{name} is {taken}, expected {least} or more, or None")
    if taken > _MOST:
        raise OverflowError(f"{name} is {taken}, expected at most 2**63 - 1")
    return taken


def one_of(choices, given, name):
    """Returns the value in `choices` for the argument `name`. In a str, underscores count as hyphens."""
    key = given.replace("_", "-") if isinstance(given, str) else given
    if key not in list(choices):
        raise InvalidError(f"{name} is {given!r}, expected one of {', '.join(map(repr, choices))}")
    return choices[key]
