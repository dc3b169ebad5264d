"""Formatting of numbers and names."""
import math

NEVER = math.inf


def count(number):
    """Formats an integer as 1 234 567, with narrow no-break spaces."""
    return "not known" if number is None else f"{number:,.0f}".replace(",", "\u202f")


def time(us):
    if us is None:
        return "\u2013"
    for unit, scale in (("s", 1e6), ("ms", 1e3)):
        if us >= scale:
            return f"{three_digits(us / scale)} {unit}"
    return f"{three_digits(us)} \u00b5s"


def three_digits(number):
    """Formats a number with three significant digits: 1.23, 12.3, 123, 1 234."""
    if number == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(number)) + 1e-9))
    return f"{number:,.{min(digits, 6)}f}".replace(",", "\u202f")


def factor(number):
    """Formats a factor: 1.35x; large factors without decimals."""
    if number is None:
        return "\u2013"
    return f"{number:.2f}\u00d7" if number < 9.995 else f"{number:.1f}\u00d7" if number < 99.95 else \
        f"{number:,.0f}\u00d7".replace(",", "\u202f")


def percent(share):
    return "\u2013" if share is None else f"{100 * share:.0f}\u202f%"


def calls(number):
    """Formats a number of calls until break-even."""
    if number is None:
        return "\u2013"
    return "at once" if number == 0 else "never" if number == NEVER else count(number)


def gbps(number):
    return "not known" if number is None else f"{three_digits(number)} GB/s"


def some(number, one, many=None):
    """Formats a count with its noun: 1 matrix, 8 matrices."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def listed(names, most=6):
    """Formats a list: a, b and c. A long list has the first names and the number of the rest."""
    names = list(names)
    if len(names) > most:
        return ", ".join(names[:most - 1]) + f" and {len(names) - most + 1} more"
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1] if names else "none"
