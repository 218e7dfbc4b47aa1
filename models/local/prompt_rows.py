"""Keys and values of several prompts in one cache of transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


class PromptRows:
    """A cache with a row for each prompt, all ending at the same place, as in a batch padded on the left.

    One row at a time is open while prompts are read, all together while answers are written. Every layer keeps every
    token, those with a sliding window too: what they may look at is the mask's matter. `store`: the device that keeps
    keys and values, where that is not the model's. `earlier`: rows whose memory may be taken over, if it is enough.
    """

    def __init__(
        self, prompts: Sequence[Ids], room: int, store: str | None = None, earlier: PromptRows | None = None
    ) -> None:
        from transformers.cache_utils import DynamicCache

        self.prompts = list(prompts)
        self.room = room
        self.store = store
        self.open_rows = slice(0, 1)
        self.start = 0
        self.layers: list[LayerRows] = []
        make: Any = DynamicCache
        self.cache = make()
        self.cache.layer_class_to_replicate = self._add_layer  # called as the first forward pass comes to a new layer
        if earlier is not None and len(earlier.prompts) == len(prompts) and earlier.room >= room:
            self.room = earlier.room
            for layer in earlier.layers:
                self.cache.layers.append(self._add_layer(layer.buffers))

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt: where all of them end."""
        return max(map(len, self.prompts))

    def open_row(self, row: int, tokens: int) -> None:
        """The next forward pass continues the first `tokens` tokens of one prompt."""
        self._open(slice(row, row + 1), self._start_of(row), tokens)

    def open_first(self, rows: int, written: int) -> None:
        """The next forward pass writes a token of the answers in the first rows, behind those written before."""
        self._open(slice(0, rows), 0, self.longest + written)

    def copy_prefix(self, tokens: int, row: int, source: PromptRows, source_row: int) -> None:
        """Copy the first tokens of a prompt to a row; `source` may be this cache."""
        begin, source_begin = self._start_of(row), source._start_of(source_row)
        for number, layer in enumerate(source.layers):
            if number == len(self.layers):
                self.cache.layers.append(self._add_layer())
            target = self.layers[number]
            target.allocate(*layer.buffers)
            for to, of in zip(target.buffers, layer.buffers, strict=True):
                to[row, :, begin : begin + tokens] = of[source_row, :, source_begin : source_begin + tokens]

    def swap(self, one: int, other: int) -> None:
        """Let two rows change places."""
        if one == other:
            return
        self.prompts[one], self.prompts[other] = self.prompts[other], self.prompts[one]
        for layer in self.layers:
            for buffer in layer.buffers:
                buffer[[one, other]] = buffer[[other, one]]

    def _start_of(self, row: int) -> int:
        return self.longest - len(self.prompts[row])

    def _open(self, rows: slice, start: int, tokens: int) -> None:
        self.open_rows, self.start = rows, start
        for layer in self.layers:
            layer.tokens = tokens

    def _add_layer(self, buffers: tuple[Any, ...] = ()) -> Any:
        """A layer of transformers' cache that keeps its keys and values in rows."""
        from transformers.cache_utils import DynamicLayer

        rows = LayerRows(self, buffers)
        self.layers.append(rows)
        make: Any = DynamicLayer
        layer = make()
        layer.update = rows.update
        layer.get_seq_length = lambda: rows.tokens
        return layer


class LayerRows:
    """One layer's keys and values: `buffers` [rows, heads, room, head size], zeros where unwritten.

    `tokens`: how many there are of each open row.
    """

    def __init__(self, rows: PromptRows, buffers: tuple[Any, ...] = ()) -> None:
        self._rows = rows
        self.buffers = buffers
        self.tokens = 0

    def allocate(self, *like: Any) -> None:
        """Make the buffers, once, for heads and numbers as in these tensors."""
        if self.buffers:
            return
        shapes = [(len(self._rows.prompts), each.shape[1], self._rows.room, each.shape[3]) for each in like]
        device = self._rows.store or like[0].device
        self.buffers = tuple(each.new_zeros(shape, device=device) for each, shape in zip(like, shapes, strict=True))

    def update(self, key_states: Any, value_states: Any, *_args: Any, **_kwargs: Any) -> tuple[Any, ...]:
        """Add new tokens to the open rows [rows, heads, tokens, head size]; returns all tokens of these rows."""
        self.allocate(key_states, value_states)
        rows, start = self._rows.open_rows, self._rows.start
        begin = start + self.tokens
        end = begin + key_states.shape[2]
        for buffer, new in zip(self.buffers, (key_states, value_states), strict=True):
            buffer[rows, :, begin:end] = new
        self.tokens += key_states.shape[2]
        device = key_states.device
        return tuple(buffer[rows, :, start:end].to(device, non_blocking=True) for buffer in self.buffers)


def common_prefix(first: Ids, second: Ids) -> int:
    """Number of ids that two sequences share from the start."""
    size = min(len(first), len(second))
    differs = first[:size] != second[:size]
    return int(differs.argmax()) if differs.any() else size
