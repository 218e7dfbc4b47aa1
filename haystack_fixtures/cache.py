"""Where files live that are made once per machine: converted models, checksums, tokenised corpora."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def default_cache_dir() -> Path:
    """The folder that NEEDLEWORK_CACHE names, else the user's cache folder; it may not exist yet."""
    named = os.environ.get("NEEDLEWORK_CACHE", "").strip()
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("needlework"))
