"""Models that are asked elsewhere: which transport carries a request for each kind of `--model`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from needlework.haystack_fixtures.cache import folder_of_run
from needlework.haystack_fixtures.models.model import Model
from needlework.haystack_fixtures.models.sdk.args import ANTHROPIC, GOOGLE, PROVIDERS, native_address, native_options
from needlework.haystack_fixtures.models.sdk.packages import client_package
from needlework.haystack_fixtures.models.served.args import address, check_for_batch, served_options
from needlework.haystack_fixtures.models.served.connection import Connection
from needlework.haystack_fixtures.models.served.model import ServedModel
from needlework.haystack_fixtures.models.served.openai_transport import OpenAITransport
from needlework.haystack_fixtures.models.served.paced import PacedModel
from needlework.haystack_fixtures.models.served.transport import Transport
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

_PACKAGES = {"anthropic": "anthropic", "google": "google-genai", "openai-sdk": "openai"}


def check_served(kind: str, model_args: Mapping[str, str], connection: Connection) -> None:
    """Refuse before the first cell: misspelt arguments, a missing key, a missing package. Raises `InputError`."""
    if kind in _PACKAGES:
        client_package(_PACKAGES[kind])
    if kind in PROVIDERS:
        native_options(PROVIDERS[kind], model_args)
        native_address(PROVIDERS[kind], connection)
        return
    options = served_options(model_args, connection)
    if connection.batch:
        check_for_batch(options)
    else:
        address(connection, azure=options.azure_api_version is not None)


def load_served(
    kind: str,
    name: str,
    model_args: Mapping[str, str],
    tokenizer: Tokenizer,
    connection: Connection,
    cache_dir: Path,
) -> Model:
    """The model, ready to be asked; nobody is spoken to before its first request. Raises `InputError`."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")  # pytest-xdist names its run to every worker
    shared = folder_of_run(cache_dir / "servers", run) if run else None
    if kind == "openai":
        options = served_options(model_args, connection)
        if connection.batch:
            from needlework.haystack_fixtures.models.served.batch.model import BatchServiceModel

            return BatchServiceModel(name, options, tokenizer, connection, connection.answers)
        return ServedModel(name, options, tokenizer, connection, shared=shared)
    return PacedModel(transport_of(kind, name, model_args, connection), tokenizer, connection, shared=shared)


def transport_of(kind: str, name: str, model_args: Mapping[str, str], connection: Connection) -> Transport:
    """HTTP in OpenAI's form, or a provider's own client. Raises `InputError`."""
    match kind:
        case "anthropic":
            from needlework.haystack_fixtures.models.sdk.anthropic_api import AnthropicTransport

            return AnthropicTransport(name, native_options(ANTHROPIC, model_args), connection)
        case "google":
            from needlework.haystack_fixtures.models.sdk.google_api import GoogleTransport

            return GoogleTransport(name, native_options(GOOGLE, model_args), connection)
        case "openai":
            return OpenAITransport(name, served_options(model_args, connection), connection)
        case _:
            from needlework.haystack_fixtures.models.sdk.openai_api import OpenAISdkTransport

            return OpenAISdkTransport(name, served_options(model_args, connection), connection)
