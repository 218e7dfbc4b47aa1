"""Unpack a body that was sent packed: gzip and deflate, with their checksums."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator

from needlework.haystack_fixtures.models.served.http.failures import UnreadableError

_PIECE = 2**20  # bytes that one packed chunk is unpacked to at a time: a small chunk may hold gigabytes
_ANY_HEADER = 32 + zlib.MAX_WBITS  # gzip's or zlib's, whichever comes


async def unpacked(chunks: AsyncIterable[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The chunks of a packed body, unpacked.

    Raises `UnreadableError`: a body that ends before its checksum is no answer, whatever its first part says.
    """
    packing = encoding.strip().lower()
    if packing not in ("gzip", "x-gzip", "deflate"):
        raise UnreadableError(f"the answer is packed as {packing[:40]!r}, which was not asked for")
    reader, begun = zlib.decompressobj(_ANY_HEADER), False
    async for chunk in chunks:
        rest = chunk
        while rest:
            if reader.eof:  # gzip may come in members, one behind the other
                reader, begun = zlib.decompressobj(_ANY_HEADER), False
            try:
                piece = reader.decompress(rest, _PIECE)
            except zlib.error as error:
                if begun or packing != "deflate":
                    raise UnreadableError(f"the packed answer is damaged: {error}") from None
                reader = zlib.decompressobj(-zlib.MAX_WBITS)  # some send deflate without zlib's header
                begun = True
                continue
            begun = True
            rest = reader.unconsumed_tail or reader.unused_data
            if piece:
                yield piece
    if begun and not reader.eof:
        raise UnreadableError("the packed answer was cut off: its end and checksum are missing")
