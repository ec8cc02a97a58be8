"""The one exception and the one warning of the package, and how text from traces is shown in them.

Used by all other modules.
"""

import unicodedata


class TraceError(Exception):
    """Traces cannot be used. One line, with the file (and line, as file:line) and the reason."""


class TraceWarning(UserWarning):
    """A trace can be used in part only, or is not the whole run. One line, with the file (and line) and the reason."""


def _is_printable(character):
    # Control characters move the cursor, formats turn the direction, and separators end a line.
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text):
    """Text that a stranger may have written, with everything that a terminal would obey as \\x1b."""
    text = str(text)
    if all(map(_is_printable, text)):
        return text
    shown = []
    for character in text:
        if _is_printable(character):
            shown.append(character)
        else:
            # A byte of a file name that is no UTF-8 is a lone surrogate in Python.
            shown.extend("\\x%02x" % byte for byte in character.encode("utf-8", "surrogateescape"
                                                                       if "\udc80" <= character <= "\udcff"
                                                                       else "surrogatepass"))
    return "".join(shown)


def reason_of(error):
    """Of an OSError."""
    return error.strerror or str(error)
