"""A list of words in any order: recall and precision of the words that an answer lists, as F1.

Known words (right and wrong ones) count wherever they are affirmed; any other word that is an item of its own is one
too many. Numbering, bullets and counts beside the words are left out.
"""

from __future__ import annotations

import re

from needlework.scoring.answers.normalize import flatten, normalize_lines, normalize_value
from needlework.scoring.answers.passages import split_at_question
from needlework.scoring.answers.polarity import refusal_end
from needlework.scoring.answers.standing import is_negated
from needlework.scoring.scores import Reference, Score, Scorer, Verdict

_SHOWN = 160
_LONGEST = 80  # characters of an item
_ITEMS = re.compile(r"[\n,;、。]|\band\b|以及|[和及]")
_ASIDE = re.compile(r"\([^)]*\)|[:=x×-]?\s*\d+(?:\s*(?:times|occurrences|次))?\W*$")
_NUMBERING = re.compile(r"^\W*(?:\d+\s*[.):]?)?\W*")
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['-]){1,19}")
_NOT_ITEMS = frozenset(
    ("sure", "ok", "okay", "yes", "here", "words", "answer", "answers", "none", "好的", "答案", "答案是")
)


def word_list_score(answer: str, reference: Reference) -> Score:
    """F1 of the words that an answer lists against `parts` (else `answers`); `distractors` are known to be wrong.

    Details: `recall`, `precision`, `f1`, `extra` (words too many). A reference without words raises `ValueError`.
    """
    wanted = [value for value in map(normalize_value, reference.parts or reference.answers) if value]
    if not wanted:
        raise ValueError("the reference has no words to match: give parts")
    lines = normalize_lines(answer)
    if not lines:
        return Score(0.0, "empty", why="no text")
    question = normalize_lines(reference.question).replace("\n", " ")
    pieces = split_at_question(lines, question) if question else None
    said = lines if pieces is None else pieces[1] or pieces[0]
    text = flatten(said)
    known = _pattern([*wanted, *map(normalize_value, reference.distractors)])
    listed = dict.fromkeys(match[0] for match in known.finditer(text) if not is_negated(text, *match.span()))
    right = [word for word in listed if word in wanted]
    wrong = [word for word in listed if word not in wanted]
    unknown = _unknown(said, known)
    extra = len(wrong) + len(unknown)
    value = 2 * len(right) / (len(right) + extra + len(wanted))
    details = {
        "recall": round(len(right) / len(wanted), 4),
        "precision": round(len(right) / (len(right) + extra), 4) if right else 0.0,
        "f1": round(value, 4),
        "extra": extra,
    }
    verdict: Verdict = "found" if value == 1 else "partial" if right else "distractor" if wrong else "wrong"
    if verdict == "wrong" and refusal_end(text) is not None:
        verdict = "refused"
    why = f"{len(right)} of {len(wanted)} words" + (f", {extra} too many" if extra else "")
    return Score(value, verdict, (", ".join([*right, *wrong]) or text)[:_SHOWN], why, details)


def _pattern(words: list[str]) -> re.Pattern[str]:
    """Any of the words, whole where their script puts spaces between words; the longest where several begin alike."""
    longest = sorted(filter(None, words), key=len, reverse=True)
    spaced = [re.escape(word) for word in longest if word.isascii()]
    unspaced = [re.escape(word) for word in longest if not word.isascii()]
    return re.compile("|".join([rf"(?<![\w-])(?:{'|'.join(spaced)})(?![\w-])"] * bool(spaced) + unspaced))


def _unknown(lines: str, known: re.Pattern[str]) -> dict[str, None]:
    """Items that are a single word of which nothing is known."""
    found: dict[str, None] = {}
    for item in _ITEMS.split(lines):
        if len(item) > _LONGEST:
            continue
        bare = _ASIDE.sub("", item).rpartition(":")[2]
        word = _NUMBERING.sub("", bare).rstrip(" .!?\"'*")
        if not _WORD.fullmatch(word) or known.search(word) or word in _NOT_ITEMS:
            continue
        if refusal_end(word) is None:
            found[word] = None
    return found


WORD_LIST = Scorer("word_list", 3, word_list_score)
"""Words in any order, as F1."""
