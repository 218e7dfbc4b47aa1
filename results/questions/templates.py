"""The words in which a model is asked to write questions: built in by name, or the user's own file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.user_files import parse_toml, read_text

if TYPE_CHECKING:
    import jinja2

OPTION = "--template"
_FOLDER = Path(__file__).parent / "prompts"
_NEED = "a template is a TOML file with `system` and `user`, texts with {{ document }} and {{ count }} in them (Jinja)"


@dataclass(frozen=True, slots=True)
class Template:
    """`system` and `user` message, Jinja sources. `name`: built in, or the path of the user's file."""

    name: str
    system: str
    user: str

    def render(self, document: str, count: int) -> tuple[str, str]:
        """System and user message. Raises `InputError` where the user's own template cannot be rendered."""
        try:
            system, user = (
                _compiled(source).render(document=document, count=count).strip() for source in (self.system, self.user)
            )
        except Exception as error:  # noqa: BLE001 - a template computes: it may divide by zero, index too far, recurse
            raise InputError(OPTION, self.name, f"cannot be rendered ({error}); {_NEED}") from None
        return system, user


@lru_cache(8)
def _compiled(source: str) -> jinja2.Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(trim_blocks=True, undefined=StrictUndefined).from_string(source)


def names() -> tuple[str, ...]:
    """The built-in templates."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def load_template(name: str) -> Template:
    """A built-in template, or that of a file. Raises `InputError`."""
    if name in names():
        fields = parse_toml(OPTION, name, (_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    else:
        fields = parse_toml(OPTION, name, read_text(OPTION, name, f"give one of {', '.join(names())}, or a file"))
    system, user = _text(name, fields, "system"), _text(name, fields, "user")
    template = Template(name, system, user)
    mark = "where the document goes"
    if mark not in "".join(template.render(mark, 1)):
        raise InputError(OPTION, name, f"{{{{ document }}}} is nowhere in it; {_NEED}")
    return template


def _text(name: str, fields: dict[str, Any], field: str) -> str:
    value = fields.get(field)
    if not isinstance(value, str):
        raise InputError(OPTION, name, f"has no text `{field}`; {_NEED}")
    return value
