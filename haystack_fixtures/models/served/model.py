"""Models behind an OpenAI-compatible server."""

from __future__ import annotations

from pathlib import Path

from needlework.haystack_fixtures.models.served.args import ServedOptions
from needlework.haystack_fixtures.models.served.connection import Connection
from needlework.haystack_fixtures.models.served.openai_transport import OpenAITransport
from needlework.haystack_fixtures.models.served.pace.turnstile import Turnstile
from needlework.haystack_fixtures.models.served.paced import PacedModel
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer


class ServedModel(PacedModel):
    """A model behind an OpenAI-compatible server, over HTTP."""

    def __init__(
        self,
        name: str,
        options: ServedOptions,
        tokenizer: Tokenizer,
        connection: Connection,
        gate: Turnstile | None = None,
        shared: Path | None = None,
    ) -> None:
        """`shared`: where the workers of one run keep what they learn of the server."""
        super().__init__(OpenAITransport(name, options, connection), tokenizer, connection, gate, shared)
