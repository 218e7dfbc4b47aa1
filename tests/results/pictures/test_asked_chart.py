"""The picture of an adaptive run: which cells were asked, and the bracket."""

from dataclasses import replace
from xml.etree import ElementTree

from needlework.results.adaptive.survey import Rules, Survey, statements_of
from needlework.results.pictures.documents import write_asked_charts

LENGTHS, DEPTHS = (4_000, 8_000, 16_000, 32_000), (0.0, 50.0, 100.0)


def statements(right_up_to, bars=(0.856,)):
    outcomes = {}
    while asked := Survey(Rules("quick", bars, 0, 5.0), LENGTHS, DEPTHS, outcomes).ahead(1):
        outcomes |= {place: float(place[0] <= right_up_to) for place in asked}
    survey = Survey(Rules("quick", bars, 0, 5.0), LENGTHS, DEPTHS, outcomes)
    return statements_of(survey, list(outcomes), ("mock", "niah", "code"))


def texts(path):
    return ["".join(node.itertext()).strip() for node in ElementTree.parse(path).iter() if node.tag.endswith("}text")]


def test_each_cell_has_its_n_and_what_was_not_asked_is_empty(tmp_path):
    paths = write_asked_charts(statements(8_000), tmp_path)
    assert [path.name for path in paths] == ["asked-niah-code-mock.png", "asked-niah-code-mock.svg"]
    written = texts(paths[1])
    assert "score >= 85.6 %: 8k" in written
    assert written.count("12") == 6  # 36 trials at three depths, at 4k and 8k
    assert written.count("4") == 3  # the first look at 16k
    assert "36/36" in " ".join(written)
    assert "0/12" in " ".join(written)


def test_a_statement_for_each_bar(tmp_path):
    written = texts(write_asked_charts(statements(8_000, (0.856, 0.5)), tmp_path)[1])
    assert {"score >= 85.6 %: 8k", "score >= 50.0 %: 8k"} <= set(written)


def test_nothing_holds_the_bar(tmp_path):
    assert "score >= 85.6 %: none" in texts(write_asked_charts(statements(0), tmp_path)[1])


def test_a_long_title_goes_on_in_a_second_line(tmp_path):
    name = "some-organisation/a-model-with-a-long-name-128k-instruct"
    found = [replace(each, model=name) for each in statements(8_000)]
    written = " ".join(texts(write_asked_charts(found, tmp_path)[1]))
    assert f"{name} holds RULER's 85.6 % up to 8k tokens (95 % sure)" in written
