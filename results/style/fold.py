"""Lines that a terminal can show: folded at its width, in its encoding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needlework.results.style.text import display_width

_PLAIN = str.maketrans({"·": "|", "–": "-", "…": "~", "−": "-", "≥": ">", "≤": "<"})


def folded(text: str, width: int, indent: str = "  ") -> list[str]:
    """Break a sentence at its blanks into lines of at most `width` columns; further lines begin with `indent`.

    A word that is longer stays whole: a path that was broken is none any more.
    """
    lines: list[str] = []
    for word in text.split(" "):
        if lines and display_width(lines[-1]) + 1 + display_width(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{indent if lines else ''}{word}")
    return lines


def folded_table(rows: Sequence[Sequence[str]], names: int, width: int) -> Iterator[str]:
    """Columns of one width, the first `names` to the left; what is too wide goes on below, under the names again."""
    sizes = [max(display_width(cell) for cell in column) for column in zip(*rows, strict=True)]
    room = width - sum(sizes[:names]) - 2 * (names - 1)
    blocks: list[list[int]] = [[]]
    used = 0
    for at in range(names, len(sizes)):
        if blocks[-1] and used + sizes[at] + 2 > room:
            blocks.append([])
            used = 0
        blocks[-1].append(at)
        used += sizes[at] + 2
    for block in blocks:
        for row in rows:
            cells = [row[at] + " " * (sizes[at] - display_width(row[at])) for at in range(names)]
            cells += [" " * (sizes[at] - display_width(row[at])) + row[at] for at in block]
            yield "  ".join(cells).rstrip()


def encodable(line: str, encoding: str | None) -> str:
    """The line as a stream of this encoding can show it; a stand-in for each character that it has not."""
    try:
        line.encode(encoding or "ascii")
    except UnicodeEncodeError:
        plain = line.translate(_PLAIN)
        return plain.encode(encoding or "ascii", "replace").decode(encoding or "ascii")
    except LookupError:
        return line.translate(_PLAIN).encode("ascii", "replace").decode("ascii")
    return line
