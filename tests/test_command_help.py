"""Each command says in its help what it does."""

from __future__ import annotations

import pytest

import needlework
from needlework.__main__ import COMMANDS


@pytest.mark.parametrize(
    "words", [*((name,) for name in COMMANDS), ("score", "mrcr"), ("questions", "check")], ids=" ".join
)
def test_help_describes_the_command(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        needlework.main([*words, "--help"])

    about = [
        part for part in capsys.readouterr().out.split("\n\n")[1:] if not part.startswith(("positional", "options"))
    ]
    assert about, "no description stands below the usage"
    assert len(about[0].partition("`: ")[2] or about[0]) > 25


def test_scripts_of_l_eval_are_answered_with_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    for script, command in {"auto_eval": "score leval FILE", "llm_eval.py": "judge", "web_human_eval": "serve"}.items():
        assert needlework.main([script]) == 2
        assert capsys.readouterr().err.endswith(f"L-Eval's script; here: needlework {command}\n")
