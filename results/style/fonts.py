"""Fonts for labels in any script: matplotlib's own, and one with Chinese characters when a label needs it."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

LATIN = "DejaVu Sans"  # ships with matplotlib, so that it is always there
# Installed fonts with Chinese characters, the best known first (Linux, then macOS, then Windows).
_CJK_FAMILIES = (
    *("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "Noto Sans CJK JP"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback"),
    *("PingFang SC", "Hiragino Sans GB", "Heiti SC", "Arial Unicode MS"),
    *("Microsoft YaHei", "SimHei", "SimSun"),
)
_BOLD = 700
_PACKAGED = ("mplfonts", "fonts", "NotoSansCJKsc-Regular.otf")


@dataclass(frozen=True, slots=True)
class Fonts:
    """Font families in the order of preference, and the characters of the text that none of them has."""

    families: tuple[str, ...]
    missing: frozenset[str] = frozenset()

    def displayable(self, text: str) -> str:
        """Return `text` with a box for each character that no font has, as a browser would show it."""
        return "".join("□" if character in self.missing else character for character in text)


def fonts_for(text: str) -> Fonts:
    """Choose fonts that have every character of `text`; warns when there is none."""
    from matplotlib import font_manager

    missing = _missing(text, font_manager.findfont(LATIN))
    if not missing:
        return Fonts((LATIN,))
    path = cjk_font()
    if path is not None:
        missing = _missing("".join(missing), str(path))
        families: tuple[str, ...] = (LATIN, _register(path))
    else:
        families = (LATIN,)
    if missing:
        shown = "".join(sorted(missing))[:20]
        warnings.warn(
            f"no font for {shown!r} in a heatmap's labels: boxes are drawn. `pip install 'needlework[demo]'` has a"
            " font with Chinese characters",
            stacklevel=2,
        )
    return Fonts(families, frozenset(missing))


def cjk_font() -> Path | None:
    """Find a font file with Chinese characters: of the package mplfonts, else an installed one; `None` without."""
    # Looked up, never imported: installed without its dependencies the package cannot be imported.
    package = importlib.util.find_spec(_PACKAGED[0])
    for folder in (package.submodule_search_locations or ()) if package else ():
        path = Path(folder, *_PACKAGED[1:])
        if path.is_file():
            return path
    from matplotlib import font_manager

    installed = {entry.name: entry.fname for entry in font_manager.fontManager.ttflist}
    return next((Path(installed[name]) for name in _CJK_FAMILIES if name in installed), None)


def _missing(text: str, path: str) -> set[str]:
    from matplotlib import font_manager

    covered = font_manager.get_font(path).get_charmap()
    return {character for character in text if ord(character) not in covered and character != "\n"}


def _register(path: Path) -> str:
    """Make the font known to matplotlib, once, for bold labels too, and return its family name."""
    from matplotlib import font_manager

    known = font_manager.fontManager.ttflist
    if not any(entry.fname == str(path) for entry in known):
        font_manager.fontManager.addfont(path)
    entries = [entry for entry in known if entry.fname == str(path)]
    if not any(entry.weight == _BOLD for entry in entries):  # else each bold label has a line of matplotlib's log
        known.append(replace(entries[0], weight=_BOLD))
    return entries[0].name
