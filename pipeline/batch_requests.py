"""`--batch-out`: the requests of cells, written to files in place of being asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from needlework.core.errors import printable
from needlework.core.grid import Cell
from needlework.models.served.batch import BatchTransport, RequestFiles
from needlework.models.served.model import ServedModel
from needlework.pipeline.ask import Ready, make_ready
from needlework.pipeline.engine import Engine

_MB = 1_000_000


@dataclass
class WrittenBatch:
    """What came of writing."""

    files: list[Path]
    cells: int = 0
    requests: int = 0
    prompt_tokens: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """Why cells are not asked, and how many."""
    failed: list[str] = field(default_factory=list)
    """Cells without a prompt."""


def write_requests(engine: Engine, cells: Iterable[Cell]) -> WrittenBatch:
    """Write every request of these cells. Raises `InputError` where the files cannot be written."""
    settings = engine.settings
    requests, megabytes = map(int, settings.batch_limits)
    files = RequestFiles(Path(settings.batch_out or ""), requests, megabytes * _MB)
    written = WrittenBatch(files.files)
    for cell in cells:
        ready = make_ready(engine, cell)
        if not isinstance(ready, Ready):
            if ready.skipped:
                written.skipped[ready.skipped] += 1
            else:
                why = ready.response.error.message if ready.response.error else ""
                written.failed.append(printable(f"{cell.id}: {why}"))
            continue
        assert isinstance(ready.model, ServedModel)
        transport = ready.model.transport
        assert isinstance(transport, BatchTransport)
        written.cells += 1
        for request in ready.requests:  # none of them waits for an answer
            written.prompt_tokens += request.prompt.tokens
            for line in transport.lines(request):
                written.requests += 1
                files.write(line, engine.series_of(cell).model)
    files.close()
    return written


def written_lines(written: WrittenBatch) -> Iterator[str]:
    """What to tell of it."""
    for why, times in written.skipped.items():
        yield f"batch-out: {times:,} cells are not asked: {why}"
    for line in written.failed[:3]:
        yield f"batch-out: no prompt: {line}"
    if len(written.failed) > 3:
        yield f"batch-out: no prompt of {len(written.failed) - 3:,} further cells"
    if not written.files:
        yield "batch-out: nothing is written: every cell has its answer, or is not asked"
        return
    yield (
        f"batch-out: {written.requests:,} requests of {written.cells:,} cells, {written.prompt_tokens:,} prompt tokens:"
    )
    for path in written.files:
        yield f"  {path} ({path.stat().st_size / _MB:,.1f} MB)"
