"""Numbers in cells can be read in every colour: 4.5 to 1 at least (WCAG 2.2, 1.4.3)."""

from __future__ import annotations

import pytest

from needlework.results.style import Rgb, color_of, dark, difference_color


def luminance(color: Rgb) -> float:
    red, green, blue = (c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colors", ["safe", "field"])
def test_scores_and_differences_can_be_read(colors: str) -> None:
    every = [color_of(value / 200, colors) for value in range(201)]  # type: ignore[arg-type]  # both names there are
    every += [difference_color(value / 100) for value in range(-100, 101)]
    for color in every:
        letters = 1.0 if dark(color) else 0.0
        light, deep = sorted((luminance(color), letters), reverse=True)
        assert (light + 0.05) / (deep + 0.05) >= 4.5
