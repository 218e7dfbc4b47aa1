"""The curves of questions on documents: which are drawn, and what stands in them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import needlework
from needlework.core.record import Record
from needlework.results.files.json_files import write_json
from needlework.results.pictures.documents import write_document_charts
from needlework.results.statistics.documents import document_statistics
from needlework.results.statistics.run_report import run_report
from tests.results.changed import changed
from tests.results.document_records import asked


def run() -> list[Record]:
    records = [asked(q, "found" if q else "wrong", depth=d) for q in range(4) for d in (0.0, 50.0, 100.0)]
    for length in (2000, 4000):
        records += [
            asked(q, task="doc_size", arm=arm, length=length) for q in range(4) for arm in ("", "bm25", "dense")
        ]
    return records + [asked(q, task="doc_size", arm="focused", length=2000) for q in range(3)]


def texts(path: Path) -> list[str]:
    return ["".join(node.itertext()).strip() for node in ElementTree.parse(path).iter() if node.tag.endswith("}text")]


def test_one_curve_for_each_arm_with_its_n(tmp_path: Path) -> None:
    paths = write_document_charts(document_statistics(run()), tmp_path)

    assert [path.name for path in paths] == [
        "documents-size-mock.png",
        "documents-size-mock.svg",
        "documents-position-mock.png",
        "documents-position-mock.svg",
    ]
    shown = texts(tmp_path / "documents-size-mock.svg")
    for told in (
        "answer document alone (n 3)",
        "all documents (n 4)",
        "bm25 (n 4)",
        "(800)",
        "2k",
        "4k",
    ):
        assert told in shown
    assert "text before the answer's document (percent); bars are 95 % intervals" in texts(
        tmp_path / "documents-position-mock.svg"
    )


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for folder, records in ((first, run()), (second, run()[::-1])):
        folder.mkdir()
        write_document_charts(document_statistics(records), folder)

    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()


def test_several_lengths_have_a_position_curve_each_and_a_single_point_none(tmp_path: Path) -> None:
    records = [asked(0, length=n, depth=d) for n in (4000, 8000) for d in (0.0, 100.0)]
    records += [asked(0, length=16000, depth=50.0), asked(0, task="doc_size")]
    paths = write_document_charts(document_statistics(records), tmp_path, ("svg",))

    assert [path.name for path in paths] == ["documents-position-4k-mock.svg", "documents-position-8k-mock.svg"]


def test_hostile_model_names_and_no_scores(tmp_path: Path) -> None:
    records = [changed(record, model="$x^2$ ../é") for record in run()]
    records += [asked(0, "error", depth=d) for d in (0.0, 100.0)]
    paths = write_document_charts(document_statistics(records), tmp_path, ("svg",))

    assert len(paths) == 2
    assert all(path.parent == tmp_path for path in paths)
    assert "$x^2$ ../é on your documents, answer document at depth 50 %" in texts(paths[0])


def test_plot_draws_them_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(tmp_path / "results.json", run_report(run()))

    assert needlework.main(["plot", str(tmp_path), "--format", "svg"]) == 0
    assert str(tmp_path / "documents-size-mock.svg") in capsys.readouterr().out.splitlines()
    assert (tmp_path / "documents-position-mock.svg").is_file()


def test_the_picture_of_sizes_says_where_the_answer_document_stood(tmp_path: Path) -> None:
    def told(depths: dict[int, tuple[float, ...]]) -> str:
        records = [
            asked(q, task="doc_size", length=n, depth=d) for n in (2000, 4000) for q in depths for d in depths[q]
        ]
        write_document_charts(document_statistics(records), tmp_path, ("svg",))
        return " ".join(texts(tmp_path / "documents-size-mock.svg"))

    assert "answer document at depths spread over 0–100 %" in told({0: (0.0,), 1: (50.0,), 2: (100.0,)})
    assert "answer document at depth 50 %" in told({0: (50.0,), 1: (50.0,)})
    assert "answer document at depths 0, 100 %" in told({0: (0.0, 100.0), 1: (0.0, 100.0)})


def test_titles_are_sentences_about_what_was_found(tmp_path: Path) -> None:
    records = [asked(q, "found" if d != 50 else "wrong", depth=d) for q in range(12) for d in (0.0, 50.0, 100.0)]
    records += [asked(q, "wrong", task="doc_size") for q in range(12)]
    records += [asked(q, task="doc_size", arm="focused") for q in range(12)]
    write_document_charts(document_statistics(records), tmp_path, ("svg",))

    position, size = (" ".join(texts(tmp_path / f"documents-{name}-mock.svg")) for name in ("position", "size"))
    assert "With 8k tokens of documents it is weakest in the middle of the text" in position
    assert "It loses 100 points when it reads 8k tokens" in size
