"""Questions about documents: files `{"0": {"question", "answer", "answer_doc"}, ...}`, and sentences with a gap.

The format is that of snorkel's long-context-eval (ded59dc). Ours may have more in a row: `answer` as a list, `aliases`,
`supporting_docs`, `status` and `reasons` (`needlework questions check`), `decision` (a person's), any other key.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import regex

from needlework.core.draws import draws, shuffled
from needlework.core.errors import InputError
from needlework.core.files import read_once, read_text
from needlework.haystack_fixtures.corpora.corpus import path_exists
from needlework.haystack_fixtures.documents.near_copies import word_runs
from needlework.haystack_fixtures.haystacks.sentences import sentence_ends

if TYPE_CHECKING:
    from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument

OPTION = "--questions"
STATUSES = ("accept", "review", "reject")
_LAYOUT = """give {"0": {"question": ..., "answer": ..., "answer_doc": ...}, ...} (needlework questions make FOLDER)"""
_READ = frozenset({"question", "answer", "aliases", "answer_doc", "supporting_docs"})
Rows = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class DocumentQuestion:
    """One question."""

    key: str  # as in the file
    question: str
    answers: tuple[str, ...]  # the reference first, then its aliases
    document: str  # the name of the one that has the answer
    supporting: tuple[str, ...] = ()  # others that have it too, or a part of it
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)  # the row's other keys


@dataclass(frozen=True)
class QuestionSet:
    """The questions of a file that may be asked."""

    questions: tuple[DocumentQuestion, ...]
    sha256: str  # of the file
    reviewed: bool  # a person decided on every one


def read_question_set(path: str) -> QuestionSet:
    """Read a file; a rejected row is not asked. Raises `InputError`, with a row's key for what it lacks."""
    return read_once(_read_question_set, path)


def read_rows(path: str, option: str = OPTION) -> tuple[Rows, str]:
    """Return all rows of a file as they are, and its sha256. Raises `InputError` for another layout."""
    text = read_text(option, path, _LAYOUT)
    try:
        content = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError(option, path, f"is not JSON ({error}); {_LAYOUT}") from None
    if not isinstance(content, dict) or not all(isinstance(row, dict) for row in content.values()):
        raise InputError(option, path, f"is JSON of another layout; {_LAYOUT}")
    return content, sha256(Path(path).expanduser().read_bytes()).hexdigest()


def rows_before(out: Path, option: str = "--out") -> Rows:
    """Return the rows of a file that is to be written, none where it is not there. Raises `InputError`."""
    return read_rows(str(out), option)[0] if path_exists(out) else {}


def question_of(key: str, row: Mapping[str, Any]) -> DocumentQuestion:
    """One row as a question. Raises `ValueError` that says what it lacks."""
    question, document = row.get("question"), row.get("answer_doc")
    if not isinstance(question, str) or not question.strip():
        raise ValueError("has no question")
    answers = texts_of(row.get("answer"), row.get("aliases"))
    if not answers:
        raise ValueError("has no answer")
    if not isinstance(document, str) or not document:
        raise ValueError("has no answer_doc")
    supporting = tuple(name for name in texts_of(row.get("supporting_docs")) if name != document)
    extra = {name: value for name, value in row.items() if name not in _READ}
    return DocumentQuestion(key, question.strip(), answers, document, supporting, extra)


def status_of(row: Mapping[str, Any]) -> str | None:
    """The status of a row: a person's decision, else that of the check; `None` without either."""
    return next((each for each in _statuses(row) if each in STATUSES), None)


def _statuses(row: Mapping[str, Any]) -> tuple[object, object]:
    """A person's decision, and the finding of the check."""
    decision = row.get("decision")
    return decision.get("status") if isinstance(decision, dict) else None, row.get("status")


def is_decided(row: Mapping[str, Any]) -> bool:
    """Whether a person decided on a row."""
    return _statuses(row)[0] in STATUSES


def question_file(rows: Rows) -> bytes:
    """The rows as such a file, in UTF-8."""
    try:
        return f"{json.dumps(rows, indent=1, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError:  # half of a surrogate pair has no UTF-8, only an escape
        return f"{json.dumps(rows, indent=1)}\n".encode()


def _read_question_set(path: str) -> QuestionSet:
    rows, digest = read_rows(path, OPTION)
    for key, row in rows.items():
        for status in _statuses(row):
            if status not in (None, "", *STATUSES):
                raise InputError(OPTION, path, f"row {key!r} has the status {status!r}: use {', '.join(STATUSES)}")
    accepted = {key: row for key, row in rows.items() if status_of(row) != "reject"}
    questions = []
    for key, row in accepted.items():
        try:
            questions.append(question_of(key, row))
        except ValueError as error:
            raise InputError(OPTION, path, f"row {key!r} {error}; {_LAYOUT}") from None
    if not questions:
        raise InputError(OPTION, path, "has no question that may be asked: all are rejected, or there is none")
    return QuestionSet(tuple(questions), digest, all(is_decided(row) for row in accepted.values()))


def texts_of(*values: object) -> tuple[str, ...]:
    """The texts among values and lists of values, numbers written out, each once; blank and others are left out."""
    listed = [each for value in values for each in (value if isinstance(value, list) else [value])]
    texts = [str(each).strip() for each in listed if isinstance(each, str | int | float) and not isinstance(each, bool)]
    return tuple(dict.fromkeys(text for text in texts if text))


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"the key {key!r} stands there twice")
        table[key] = value
    return table


# The gap is a number, a name, a title, else a long word, best one that few documents have, and stands once in the
# sentence; the sentence stands in one document alone. Such questions share their words with the document: they tell
# whether a model finds and reads a place, not whether it understands what is asked in other words.
Groups = Sequence[Sequence[str]]

GAPS = "gap"  # in place of the name of a file
MOST = 20  # questions of a run that has no file of them
GAP = "____"
_HAN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_WORDS = (8, 40)  # of a sentence
_GAPS_CHARACTERS = (15, 80)  # of one in a script without spaces
_LINE = 60  # characters of a line that text was broken into
_RARE = 2  # documents
_SHARE = 3  # a gap is at most one part in so many of its sentence
_SENTENCE = regex.compile(
    r"""[\p{Lu}\p{Han}\p{Hiragana}\p{Katakana}"'“‘「『《].*[\p{STerm}.!?…]["'\p{Pe}\p{Pf}]*""", regex.S
)
_NAME = r"\p{Lu}[\p{L}\p{M}'’-]+"
# In the order in which they are taken.
_KINDS = (
    regex.compile(r"(?<![\p{Latin}\p{N}.,/-])\p{N}(?:[\p{N}.,:/-]*\p{N})(?![\p{Latin}\p{N}])"),
    regex.compile(rf"(?<=[\p{{Ll}},;] ){_NAME}(?: (?:(?:of|the|de|la|van|von) )?{_NAME})*"),
    regex.compile(r"(?<=[《「『“])[^《》「」『』“”，。！？；：、\s]{2,12}(?=[》」』”])"),
    regex.compile(r"(?<=[，；：])[\p{Han}]{3,8}(?=[，；。！？])"),
    regex.compile(r"(?<![\p{L}\p{M}\p{N}'’-])[\p{Ll}]{7,}(?![\p{L}\p{M}\p{N}'’-])"),
)
_QUESTION_TEXTS = {
    False: f'Which words stand in place of {GAP} in this sentence of the documents: "{{sentence}}"',
    True: f"文档中有这样一句话，其中 {GAP} 处原来是什么？“{{sentence}}”",
}


def gap_questions(documents: DocumentSet, groups: Groups) -> QuestionSet:
    """The questions of a run without a file of them: one on each of about `MOST` documents, or none.

    `groups`: names of twins. The same documents give the same questions.
    """
    rows = gap_rows(documents, groups, MOST)
    questions = tuple(question_of(key, row) for key, row in rows.items())
    return QuestionSet(questions, sha256(question_file(rows)).hexdigest(), False)


def gap_rows(
    documents: DocumentSet, groups: Groups, most: int | None, *, seed: int = 0
) -> dict[str, Mapping[str, Any]]:
    """The rows of a question file, in the order of the documents' names.

    `groups`: twins, of which the first is asked about. `most`: about so many, drawn with the seed; by default all.
    """
    later = {name for group in groups for name in group[1:]}
    sentences = {each.name: list(_sentences(each.text)) for each in documents.documents}
    times = Counter(chain.from_iterable(map(set, sentences.values())))
    having = Counter(chain.from_iterable(set(word_runs(each.text)) for each in documents.documents))
    pairs: dict[str, tuple[str, str]] = {}
    for document in shuffled(draws("gap questions", seed, documents.sha256), documents.documents):
        if len(pairs) == most:
            break
        if document.name not in later:
            unique = [sentence for sentence in sentences[document.name] if times[sentence] == 1]
            pair = _pair(unique, having, document, seed)
            pairs |= {document.name: pair} if pair else {}
    return {
        str(at): {"question": pairs[name][0], "answer": pairs[name][1], "answer_doc": name}
        for at, name in enumerate(sorted(pairs))
    }


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text that can be asked about, white space made even."""
    start = 0
    for end in sentence_ends(text).tolist():
        sentence, start = text[start:end].strip(), end
        even = " ".join(sentence.split())
        size, (least, most) = (len(even), _GAPS_CHARACTERS) if _HAN.search(even) else (even.count(" ") + 1, _WORDS)
        # A short line inside is a heading, or an item of a list.
        broken = any(len(line.strip()) < _LINE for line in sentence.split("\n")[:-1])
        if least <= size <= most and not broken and GAP not in even and _SENTENCE.fullmatch(even):
            yield even


def _pair(
    sentences: Sequence[str], having: Mapping[str, int], document: OwnDocument, seed: int
) -> tuple[str, str] | None:
    """The question on a document, with its answer: preferably in few documents, and a number."""
    best: tuple[bool, int, int] | None = None
    chosen = None
    for sentence in shuffled(draws("gap sentences", seed, document.name), sentences):
        for kind, pattern in enumerate(_KINDS):
            for match in pattern.finditer(sentence):
                answer = match[0].removesuffix("'s").removesuffix("’s")
                if sentence.count(answer) > 1 or _SHARE * len(answer) > len(sentence):
                    continue
                documents = min((having.get(word, 1) for word in word_runs(answer)), default=1)
                rank = (documents > _RARE, kind, documents)
                if best is None or rank < best:
                    best = rank
                    gapped = sentence.replace(answer, GAP)
                    chosen = (_QUESTION_TEXTS[_HAN.search(sentence) is not None].format(sentence=gapped), answer)
    return chosen
