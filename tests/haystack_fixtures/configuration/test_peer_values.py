import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.peer_names import EVALSCOPE, LLMTEST, OPENCOMPASS, translated


def ours(table, **named):
    return dict(translated("mine.toml", table, **named).values)


def test_llmtest_spacing_is_its_own_where_its_ends_are_given():
    table = {"document_depth_percent_interval_type": "sigmoid", "document_depth_percent_intervals": 35}
    assert ours(table)["depth_spacing"] == "opencompass-sigmoid"
    assert ours(table | {"document_depth_percent_min": 0})["depth_spacing"] == "sigmoid"
    assert ours(table, peer=LLMTEST)["depth_spacing"] == "sigmoid"
    assert ours(table | {"document_depth_percent_min": 0}, peer=OPENCOMPASS)["depth_spacing"] == "opencompass-sigmoid"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"lengths": "1k", "context_lengths": [1000]}, "lengths, context_lengths.*two names for one thing"),
        ({"context_lengths_min": 1000}, "give context_lengths_max and context_lengths_num_intervals too, or lengths"),
        (
            {"context_lengths": [1000], "context_lengths_min": 1, "context_lengths_max": 2}
            | {"context_lengths_num_intervals": 2},
            "two names for one thing",
        ),
        ({"document_depth_percent_interval_type": "cubic"}, "use linear or sigmoid"),
        ({"depth_spacing": "log", "document_depth_percent_interval_type": "linear"}, "two names for one thing"),
    ],
)
def test_what_is_said_twice_or_by_half_is_refused(table, said):
    with pytest.raises(InputError, match=said):
        translated("mine.toml", table)


def test_a_systems_own_table_has_its_defaults_and_its_precedence():
    assert ours({"context_lengths_max": 64000}, peer=EVALSCOPE)["lengths"] == "1000:64000:10"
    assert ours({"context_lengths": [500], "context_lengths_max": 64000}, peer=LLMTEST)["lengths"] == [500]
    both = {"needle": "a", "needles": ["b", "c"]}
    assert ours(both | {"multi_needle": False}, peer=LLMTEST) == {"needle": "a"}
    assert ours(both | {"multi_needle": True}, peer=LLMTEST) == {"task": "multi_needle", "needles": ["b", "c"]}
