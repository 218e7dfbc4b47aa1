"""The top of a run's `report.html` as a picture of docs/, by chromium; for `perf.pictures`."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image, ImageChops

WIDTH, HEIGHT = 1000, 1500  # CSS pixels
_COLOURS = 128  # enough for text and a heatmap, at a third of the bytes


def screenshot(page: Path, picture: Path) -> None:
    """Write `picture` (PNG): the top of `page`, WIDTH x HEIGHT, no blank end. Raises `SystemExit`."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("the picture of report.html needs chromium (apt-get install chromium)")
    with tempfile.TemporaryDirectory() as folder:
        taken = Path(folder) / "page.png"
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}")
        size = (f"--window-size={WIDTH},{HEIGHT}", "--virtual-time-budget=3000", f"--screenshot={taken}")
        subprocess.run([chromium, *flags, *size, page.resolve().as_uri()], check=True, capture_output=True, timeout=120)
        image = Image.open(taken).convert("RGB")
    image.crop((0, 0, WIDTH, _last_row(image))).quantize(_COLOURS).save(picture, optimize=True)


def _last_row(image: Image.Image) -> int:
    """The row below the last one that is not of the background's colour, and a margin."""
    background = Image.new("RGB", image.size, image.getpixel((0, image.height - 1)))
    box = ImageChops.difference(image, background).getbbox()
    return min(image.height, (box[3] if box else image.height) + 16)
