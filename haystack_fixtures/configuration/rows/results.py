"""Options of results, plans, pictures and gates."""

from __future__ import annotations

from needlework.haystack_fixtures.settings.option import OUT, Option
from needlework.haystack_fixtures.settings.option_values import (
    one_of,
    path,
    percent,
    prices,
    shard,
    switch,
    text,
    whole,
)

OPTIONS: tuple[Option, ...] = (
    Option("results-dir", OUT, "folder that holds the runs", path, "results/runs", metavar="DIR"),
    Option(
        "run-name",
        OUT,
        "name of the run's folder; the same name goes on where it stopped",
        text,
        shown_default="the time and the model",
    ),
    Option("fresh", OUT, "empty the named run's folder first", switch, "false", flag=True),
    Option("resume", OUT, "go on where the named run stopped (the default)", switch, "true", flag=True),
    Option(
        "shard",
        OUT,
        "run part I of N of the cells, on each of N machines or processes with one --run-name; needlework merge puts"
        " them together",
        shard,
        shown_default="the whole run",
        metavar="I/N",
        once=True,
    ),
    Option("plan", OUT, "print what would be run, with tokens and requests, and stop", switch, "false", flag=True),
    Option(
        "power",
        OUT,
        "with --plan: trials needed to find this, such as drop=0.05 or score=0.9",
        text,
        shown_default="not shown",
        metavar="EXPR",
    ),
    Option(
        "price",
        OUT,
        "with --plan: dollars per million prompt tokens and per million answer tokens, to tell the cost",
        prices,
        shown_default="not shown",
        metavar="IN,OUT",
    ),
    Option(
        "relative-to",
        OUT,
        "what the relative bar of the effective length is 85 % of: a score (0.95 or 95%), or lengths (500,1k), which"
        " are then not judged",
        text,
        shown_default="the focused control, else lengths up to 1k, else the shortest",
        metavar="BASE",
    ),
    Option("save-prompts", OUT, "write each prompt beside the results", switch, "false", flag=True),
    Option(
        "heatmap-colors",
        OUT,
        "safe: for colour-blind eyes too; field: red, yellow, green",
        one_of("safe", "field"),
        "safe",
    ),
    Option("heatmap-numbers", OUT, "write scores into the cells of pictures", switch, "false", flag=True),
    Option(
        "max-errors",
        OUT,
        "percent of cells that may be invalid or errors before the run is void",
        percent,
        "5",
        metavar="PERCENT",
    ),
    Option(
        "gate",
        OUT,
        'condition on the scores, such as "score >= 0.9 [length<=4k] per depth"; may be given several times',
        text,
        metavar="EXPR",
        repeatable=True,
    ),
    Option(
        "baseline",
        OUT,
        'run folder or results.json that a gate such as "not worse" or "drop <= 0.02" compares with',
        text,
        shown_default="none",
        metavar="RUN",
        once=True,
    ),
    Option(
        "allow-different-dtypes",
        OUT,
        "compare with a baseline of the same model in another kind of numbers, fp32 and bf16",
        switch,
        "false",
        flag=True,
    ),
    Option(
        "top-up",
        OUT,
        "further trials, at most, that may be asked while a gate is inconclusive",
        whole(0),
        "0",
        metavar="TRIALS",
    ),
)
