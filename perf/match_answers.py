"""Agreement of `match` with a careful reader: `python -m perf.match_answers [--show FILE [KIND]]`."""

import sys
import time
from collections import Counter

from needlework.scoring.registry import SCORERS
from tests.scoring.material import LABELS, SETS, labelled


def main() -> None:
    """Print the table, or the answers of one set that are judged otherwise than labelled."""
    judge = SCORERS["match"].judge
    show = sys.argv[2:] if sys.argv[1:2] == ["--show"] else []
    if not show:
        print(f"{'set':32}{'n':>6}{'agree':>8}{'false hits':>12}{'false misses':>14}{'unclear':>9}{'ms':>8}")
    for name, kind, *_ in SETS:
        if (show and name != show[0]) or (len(show) > 1 and kind != show[1]):
            continue
        count: Counter[tuple[str, str]] = Counter()
        rows = list(labelled(name, kind=kind))
        start = time.perf_counter()
        for label, reference, answer in rows:
            score = judge(answer, reference)
            verdict = LABELS.get(score.verdict, "-")
            count[label, verdict] += 1
            if show and label != verdict and (label, verdict) != ("?", "-"):
                print(label, score.verdict, f"{answer!r} [{reference.question} {reference.answers}] {score.why}")
        took = (time.perf_counter() - start) / len(rows)
        agreed = sum(n for (label, verdict), n in count.items() if label == verdict or (label, verdict) == ("?", "-"))
        false = sum(n for (label, verdict), n in count.items() if label in "-?" and verdict in "+~")
        missed = sum(n for (label, verdict), n in count.items() if label in "+~" and verdict == "-")
        unclear = sum(n for (_, verdict), n in count.items() if verdict == "?")
        if not show:
            share = f"{agreed / len(rows):8.1%}{false:12}{missed:14}{unclear / len(rows):9.1%}{1000 * took:8.2f}"
            print(f"{name + ' ' + kind:32}{len(rows):6}{share}")


if __name__ == "__main__":
    main()
