"""How the models of `needlework questions` are reached: the options, and opening one."""

from __future__ import annotations

import argparse
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.option_values import variable
from needlework.results.judging.asking import Judge, OpenJudge

_KEY = "OPENAI_API_KEY"


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how the model of `--model` is reached, and where replies are kept."""
    parser.add_argument(
        "--model-arg", action="append", default=[], metavar="KEY=VALUE", help="as in pytest, repeatable"
    )
    parser.add_argument("--base-url", metavar="URL", help="address of the model's server, ending in /v1")
    parser.add_argument("--api-key-env", default=_KEY, metavar="NAME", help="variable with its key [%(default)s]")
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="requests in flight at once [8]")
    parser.add_argument("--replies", type=Path, metavar="FILE", help="replies, gone on with [OUT.replies.jsonl]")


def open_model(options: argparse.Namespace, open_judge: OpenJudge, reply_budget: int, option: str = "--model") -> Judge:
    """Open what `option` names (`--model` or `--checker`). `reply_budget`: tokens of a reply. Raises `InputError`."""
    own = option == "--model"
    key_option = "--api-key-env" if own else f"{option}-api-key-env"
    key = options.api_key_env if own else options.checker_api_key_env
    variable(key_option, key)
    if options.concurrency < 1:
        raise InputError("--concurrency", options.concurrency, "give a whole number from 1")
    return open_judge(
        options.model if own else options.checker,
        base_url=options.base_url if own else options.checker_base_url,
        api_key_env=key,
        concurrency=options.concurrency,
        reply_budget=reply_budget,
        model_args=options.model_arg if own else (),
        option=option,
    )
