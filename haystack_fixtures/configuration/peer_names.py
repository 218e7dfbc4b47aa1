"""Option names of other harnesses, and what to write in their place."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from needlework.core.errors import nearest


@dataclass(frozen=True, slots=True)
class PeerName:
    """A parameter as the published systems `peers` call it."""

    name: str
    peers: tuple[str, ...]
    ours: str = ""  # our key in a TOML file; empty where none takes it over
    same: bool = True  # it means here what it means there
    about: str = ""  # the difference, or how its value is read
    here: str = ""  # what to do where no key of ours takes it over

    @property
    def remedy(self) -> str:
        """The remedy: our option that replaces it on the command line."""
        more = " (of the text alone: --length-means context)" if "tokens of the text alone" in self.about else ""
        return self.here or f"--{self.ours.replace('_', '-')}{more}"


def _read_names() -> dict[str, PeerName]:
    tables = tomllib.loads((resources.files(__package__) / "peer_names.toml").read_text(encoding="utf-8"))
    return {
        name: PeerName(name, tuple(peers.split(", ")), **row)
        for peers, rows in tables.items()
        for name, row in rows.items()
    }


NAMES = _read_names()


def hint(key: str, ours: Iterable[str]) -> str:
    """What to write in place of an unknown name: ours for a published one, or the nearest; empty where none is near."""
    near = key if key in NAMES else nearest(key, ours, NAMES)
    if near in NAMES and near not in ours:
        return f"here {NAMES[near].remedy}"
    return f"did you mean {near}?" if near else ""
