"""What is told of a judge names the judge's options."""

import pytest

from needlework.models.judge import ask, open_judge
from needlework.models.served.connection import ServerOptions


def test_a_judge_that_is_not_there_is_to_be_mended_at_its_own_address(tmp_path):
    connection = ServerOptions("http://127.0.0.1:1/v1", retries=0, timeout_s=2)
    judge = open_judge("openai:j", connection, None, tmp_path)

    with pytest.raises(RuntimeError, match=r"the judge did not answer: .*--judge-base-url"):
        ask(judge, "", "Is it right?")
