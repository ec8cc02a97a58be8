#!/usr/bin/env python3
"""Records for tests of fill jobs: make_records.py FILE COUNT writes a .npy file of COUNT records of 8 numbers of 4 bytes."""
import array
import struct
import sys

count = int(sys.argv[2])
header = "{'descr': '<i4', 'fortran_order': False, 'shape': (%d, 8), }" % count
header += " " * (-(10 + len(header) + 1) % 64) + "\n"
with open(sys.argv[1], "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    array.array("i", ((i * 2654435761) % 2147483647 for i in range(8 * count))).tofile(out)
