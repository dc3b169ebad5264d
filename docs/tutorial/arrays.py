#!/usr/bin/env python3
"""Prints the arrays of a container, a line each: arrays.py FILE.spry [ARRAY...]

The file is laid out as docs/container.md says: a head of 4096 bytes with a table of sections, then the sections.
"""
import struct
import sys

HOUSEKEEPING = ("head", "shape", "types", "order", "width", "runs", "chunks", "kinds", "rest", "packed", "windowed",
                "slices", "extras", "pages", "pieces", "windows")


def read_container(path):
    """Format, parameters, and the arrays by name, each a list of numbers, of the sections that hold numbers."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"\x89SPY":
        sys.exit(f"{path} is no container: spry convert FILE.mtx -o FILE.spry makes one")
    name, parameters = (data[a:b].rstrip(b"\0").decode() for a, b in ((32, 48), (48, 112)))
    floating = {1: "f", 2: "d"}.get(data[136], "d")
    arrays = {}
    for slot in range(struct.unpack_from("<I", data, 144)[0]):
        at = 192 + 64 * slot
        title = data[at:at + 16].rstrip(b"\0").decode()
        offset, count, size = struct.unpack_from("<QQQ", data, at + 16)
        kind = floating if title.endswith("values") else {1: "B", 2: "H", 4: "I", 8: "Q"}.get(size)
        if kind and count:
            arrays[title] = list(struct.unpack_from(f"<{count}{kind}", data, offset))
    return name, parameters, arrays


def main():
    name, parameters, arrays = read_container(sys.argv[1])
    print(name + (f" ({parameters})" if parameters else ""))
    wanted = sys.argv[2:] or [title for title in arrays if title not in HOUSEKEEPING]
    for title in wanted:
        print(f"{title:<12}", *(f"{number:2g}" for number in arrays[title]))


if __name__ == "__main__":
    main()
