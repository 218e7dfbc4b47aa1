"""The table of `make perf` ends with a verdict: how many aims are met, and which are missed by how much."""

from perf.report import table, verdict


def row(what, ours, *, peer=None, target=None, more=False, unit="CPU s"):
    return {
        "what": what, "ours": ours, "peer": peer, "peer_name": "evalscope" if peer else "", "unit": unit,
        "target": target, "more": more, "note": "",
    }  # fmt: skip


def test_met_and_missed_aims_are_counted():
    rows = [
        row("cold", 0.2, peer=1.8, target=8),
        row("cached", 0.15, peer=1.8, target=20),
        row("loading", 2.4, target=3),
        row("prefill", 200, peer=250, target=1.25, more=True, unit="tokens/s"),
        row("memory", 278, unit="MiB"),
    ]
    assert verdict(rows) == "2 of 4 aims met; missed: cached (12x, wanted 20x); prefill (0.8x, wanted 1.25x)"
    assert verdict(rows[:1]) == "1 of 1 aims met"
    assert "| cached | 0.15 CPU s | evalscope 1.8 CPU s | 12x | >= 20x | **no** |" in table(rows)
