"""Questions without a model: sentences of documents with a gap."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any

import regex

from needlework.core.draws import draws, shuffled
from needlework.haystack_fixtures.documents.near_copies import word_runs
from needlework.haystack_fixtures.documents.questions import QuestionSet, question_file, question_of
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument
from needlework.haystack_fixtures.haystacks.sentences import sentence_ends

# The gap is a number, a name, a title, else a long word, best one that few documents have, and stands once in the
# sentence; the sentence stands in one document alone. Such questions share their words with the document: they tell
# whether a model finds and reads a place, not whether it understands what is asked in other words.
Groups = Sequence[Sequence[str]]

NAME = "gap"
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
