"""Each command says in its help what it does."""

import pytest

import needlework
from needlework.__main__ import COMMANDS


@pytest.mark.parametrize(
    "words", [*((name,) for name in COMMANDS), ("score", "mrcr"), ("questions", "check")], ids=" ".join
)
def test_help_describes_the_command(words, capsys):
    with pytest.raises(SystemExit):
        needlework.main([*words, "--help"])

    about = [
        part for part in capsys.readouterr().out.split("\n\n")[1:] if not part.startswith(("positional", "options"))
    ]
    assert about, "no description stands below the usage"
    assert len(about[0].partition("`: ")[2] or about[0]) > 25
