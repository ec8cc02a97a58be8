"""Damages lines and files of traces: as a full disk, a killed rank, another version or a stranger would leave them.

Used by readers_fuzz.py. All from one random.Random, so that a seed makes the same damage again.
"""
import re

NUMBERS = [b"0", b"-1", b"-0", b"1", b"9007199254740993", b"9223372036854775807", b"-9223372036854775808",
           b"18446744073709551616", b"4611686018427387903", b"1e308", b"1e400", b"-1e-400", b"0.5", b"2147483648", b"NaN",
           b"Infinity", b"1" + b"0" * 400]
VALUES = [b"null", b"true", b"[]", b"{}", b'""', b'"x"', b"[[[[[[]]]]]]", b'{"a": {"a": {}}}', b'"\\ud800"', b'"\\u0000"',
          b'"</script><script>alert(1)</script>"', b'"\x1b[31m"', b'"\xff\xfe"', b'"\xe2\x80\xa8"', b'"' + b"y" * 3000 + b'"']
BYTES = [b"\0", b"\n", b"\r", b"\x1b", b"\xff", b'"', b"\\", b"{", b"}", b",", b"[" * 5000, b"\xef\xbb\xbf"]
FIELD = re.compile(rb'"([a-z_]+)": (-?[0-9][0-9.e+-]*|"[^"]*"|true|false|null)')


def field_changed(line, rng, other):
    fields = list(FIELD.finditer(line))
    if not fields:
        return line
    field = rng.choice(fields)
    key, value, begin, end = field.group(1), field.group(2), field.start(2), field.end(2)
    how = rng.randrange(5)
    if how == 0:
        value = rng.choice(NUMBERS)
    elif how == 1:
        value = rng.choice(VALUES)
    elif how == 2 and value.lstrip(b"-").isdigit():  # a number that is nearly right
        value = str(int(value) + rng.choice([-1, 1, -1000, 1000, 10**6, -(10**9), 10**12])).encode()
    elif how == 3:  # the same key of another line
        found = re.search(rb'"%s": (-?[0-9][0-9.e+-]*|"[^"]*"|true|false|null)' % key, other)
        value = found.group(1) if found else rng.choice(NUMBERS)
    else:  # twice, or gone
        return line[:end] + b", " + field.group(0) + line[end:] if rng.random() < 0.5 else line[: field.start()] + line[end:]
    return line[:begin] + value + line[end:]


def bytes_changed(line, rng, other):
    place = rng.randrange(len(line) + 1)
    how = rng.randrange(4)
    if how == 0:
        return line[:place]
    if how == 1:
        return line[:place] + bytes([rng.randrange(256)]) + line[place + 1:]
    if how == 2:
        return line[:place] + rng.choice(BYTES) + line[place:]
    return line[:place] + other[rng.randrange(len(other) + 1):]


def damaged_line(line, rng, other):
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        line = rng.choice([field_changed, field_changed, bytes_changed])(line, rng, other)
    return line


def damaged_file(lines, rng, share):
    """`share` of the lines are damaged; some are missing, come twice, at another place, or of another file."""
    found = []
    for line in lines:
        if rng.random() >= share:
            found.append(line)
            continue
        other = rng.choice(lines)
        how = rng.randrange(12)
        if how == 0:
            continue
        if how == 1:
            found += [line, line]
        elif how == 2:
            found += [other, line]
        else:
            found.append(damaged_line(line, rng, other))
    text = b"\n".join(found) + b"\n"
    if rng.random() < 0.1:
        text = text[: rng.randrange(len(text) + 1)]
    if rng.random() < 0.02:
        text = text.replace(b"\n", b"\r\n")
    if rng.random() < 0.02:
        text = text.replace(b"\n", b"", rng.randrange(50))
    return text


def other_version(lines, rng):
    """The header says so, and some keys have other names, as those of a Weft that is older or newer."""
    key = rng.choice([field.group(1) for field in FIELD.finditer(rng.choice(lines))] or [b"rank"])
    renamed = [line.replace(b'"%s":' % key, b'"%s_of_later":' % key) for line in lines]
    if rng.random() < 0.5:
        renamed[0] = renamed[0].replace(b'"version": 1', b'"version": %d' % rng.choice([0, 2, 99, -1]))
    return renamed
