"""What of device code a GPU executes, without lines of the source."""

import re
import struct

#: The sections of an HSACO that a GPU executes and reads.
SECTIONS = (".rodata", ".text")
#: Directives and labels for the lines of the source in PTX, and empty lines.
_LINES = re.compile(
    r"^(\s*\.(loc|file)\b.*|\$L__(tmp|func_begin|func_end)\d+:"
    r"|\s*\.section\s+\.debug_\w+\s*\{\s*\}|\s*)\n",
    re.M,
)


def read_sections(image: bytes) -> dict[str, bytes]:
    """The contents of an ELF file's sections, by name."""
    (offset,) = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    headers = [
        struct.unpack_from("<IIQQQQ", image, offset + i * size) for i in range(count)
    ]
    start = headers[names][4]
    found = {}
    for name, _, _, _, place, length in headers:
        text = image[start + name : image.index(b"\0", start + name)].decode()
        found[text] = image[place : place + length]
    return found


def machine_code(image: bytes, names: tuple[str, ...] = SECTIONS) -> bytes:
    """The contents of some sections of an ELF file."""
    sections = read_sections(image)
    return b"".join(sections[name] for name in names if name in sections)


def without_lines(ptx: str) -> str:
    """PTX without the lines of its source."""
    return _LINES.sub("", ptx)
