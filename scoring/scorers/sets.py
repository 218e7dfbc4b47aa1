"""Scorers of sets and lists: F1, words, nodes, labels, letters of options."""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib import resources

from needlework.scoring import reading
from needlework.scoring.folding import phrases
from needlework.scoring.match.claims import is_negated
from needlework.scoring.match.match import affirms, match_score
from needlework.scoring.match.values import find_same_shape
from needlework.scoring.plain_text import Span, find_whole, flatten, normalize, normalize_lines, normalize_value
from needlework.scoring.scores import Details, Reference, Score, Verdict, expected_text, rule

# Values are found as `match` finds them: whole, affirmed, not in a long copy of the text. Everything else in the answer
# that is a known wrong value, or has the shape of a value (as many digits, or a name of consonants), is one too many.
# Where the answer names its result (`Answer: ...`), only what follows counts.
_SHOWN = 160
_RESULTS = 4  # places to look at, from the end
_RESULT = re.compile(r"(?:\banswers?\b|答案)[^\n:]{0,30}:|(?:^|\n)\W*(?:final )?answers?\W*\n")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}")
_NAME = re.compile(r"(?<![a-z0-9])[bcdfghjklmnpqrstvwxz]{5}(?![a-z0-9])")


def f1_details(hits: int, expected: int, extra: int) -> Details:
    """Recall, precision and F1 of lists of values, and how many are too many."""
    precision = round(hits / (hits + extra), 4) if hits else 0.0
    f1 = 2 * hits / (hits + extra + expected)
    return {"recall": round(hits / expected, 4), "precision": precision, "f1": round(f1, 4), "extra": extra}


def counted(hits: int, expected: int, extra: int, unit: str) -> str:
    """`2 of 3 values, 1 too many`."""
    return f"{hits} of {expected} {unit}" + (f", {extra} too many" if extra else "")


@rule("set_f1", 5)
def set_f1_scorer(answer: str, reference: Reference) -> Score:
    """F1 of the values given. Details: `recall`, `precision`, `f1`, `exact`, `extra` and `missed`.

    `extra`: how many values too many. `missed`: ranks (from 1, in the order of `parts`) of the values that were not
    given, with commas. A reference without any value raises `ValueError`.
    """
    parts = [part for part in map(normalize_value, reference.parts or reference.answers[:1]) if part]
    if not parts:
        raise ValueError("the reference has no value to match: give parts")
    lines = normalize_lines(answer)
    if not lines:
        return Score(0.0, "empty", why="no text")
    lines = _result(lines, [*parts, *map(normalize_value, reference.distractors)])
    plain = replace(reference, parts=tuple(parts), statement="")
    hits = [affirms(lines, value, plain) for value in parts]
    known = [value for value in map(normalize_value, reference.distractors) if value and value not in parts]
    wrong = list(dict.fromkeys([*(value for value in known if affirms(lines, value, plain)), *_alike(lines, parts)]))
    value = 2 * sum(hits) / (sum(hits) + len(wrong) + len(parts))
    missed = ",".join(str(rank) for rank, hit in enumerate(hits, 1) if not hit)
    details = f1_details(sum(hits), len(parts), len(wrong)) | {"exact": value == 1, "missed": missed}
    values = [part for part, hit in zip(parts, hits, strict=True) if hit] or wrong
    shown = (", ".join(values) or flatten(lines))[:_SHOWN]
    verdict: Verdict = "found" if value == 1 else "partial"
    if value == 0:
        refused = not wrong and match_score(answer, reference).verdict == "refused"
        verdict = "distractor" if set(wrong) & set(known) else "refused" if refused else "wrong"
    return Score(value, verdict, shown, counted(sum(hits), len(parts), len(wrong), "values"), details)


def _result(lines: str, values: Sequence[str]) -> str:
    """The text after the last `Answer:`, if it has a value; else the whole answer."""
    ends = [match.end() for match in _RESULT.finditer(lines)][-_RESULTS:]
    rests = (lines[end:] for end in reversed(ends))
    return next((rest for rest in rests if any(value in flatten(rest) for value in values)), lines)


def _alike(lines: str, parts: Sequence[str]) -> list[str]:
    """Unwanted values in an answer that look like wanted ones; in a long answer at its ends only."""
    text = flatten(reading.outside_copies(lines, len(parts)))
    spans = {span for value in parts for span in find_same_shape(text, value)}
    alike = [text[span.start : span.end] for span in sorted(spans) if not is_negated(text, *span)]
    if all(_CONSONANTS.fullmatch(part) for part in parts):
        alike += [match[0] for match in _NAME.finditer(text) if not is_negated(text, *match.span())]
    return [value for value in alike if value not in parts]


# Known words (right and wrong ones) count wherever they are affirmed; any other word that is an item of its own is one
# too many. Numbering, bullets and counts beside the words are left out.
_ITEMS = re.compile(r"[,;:、，；：。\n]|\.(?=\s|$)|\s(?:and|or|&)\s|以及|[和及]|(?:^|\s)(?:\d{1,3}[.)]|[-*•])\s+")
_ASIDE = re.compile(r"\([^)]*\)|(?<=[^\W\d])(?:\s*[:=×]\s*|\s+[x×-]?\s*)\d+(?:\s*(?:times|occurrences|次))?\W*$")
_AROUND = " \t\"'`*_()[]{}<>“”‘’「」.!?"
_NOT_ITEMS = {
    *("sure", "certainly", "yes", "ok", "okay", "here", "answer", "answers", "words", "variables", "numbers", "values"),
    *("none", "好的", "答案", "答案是"),
}
_SHORTEST = 4  # letters of a word that counts as one too many where it stands between right ones: not `and`, not `VAR`


def listed_beside(lines: str, values: Sequence[str]) -> set[str]:
    """The items of one word that are no value, and the words that stand between values in an item."""
    longest = 2 * max(map(len, values))  # a longer item is a phrase of a script without spaces
    beside: set[str] = set()
    for item in _ITEMS.split(lines):
        words = [word for word in (piece.strip(_AROUND) for piece in _ASIDE.sub("", item).split()) if word]
        if len(words) == 1 and not any(find_whole(words[0], value) for value in values):
            is_number = words[0].isdigit() and len(words[0]) < _SHORTEST
            is_item = not is_number and len(words[0]) <= longest and reading.refusal_end(words[0]) is None
            beside |= {*words} if is_item else set()
        elif 2 * sum(word in values for word in words) >= len(words):
            beside |= {word for word in words if len(word) >= _SHORTEST and word not in values}
    return {word for word in beside - _NOT_ITEMS if not phrases("before").fullmatch(word)}


@rule("word_list", 6)
def word_list_scorer(answer: str, reference: Reference) -> Score:
    """F1 of the words listed by an answer against `parts` (else `answers`); `distractors` are wrong.

    Details: `recall`, `precision`, `f1`, `extra` (words too many). A reference without words raises `ValueError`.
    """
    words = [value for value in map(normalize_value, reference.parts or reference.answers) if value]
    if not words:
        raise ValueError("the reference has no words to match: give parts")
    lines = normalize_lines(answer)
    if not lines:
        return Score(0.0, "empty", why="no text")
    stated = reading.own_words(lines, normalize(reference.question))
    text = flatten(stated)
    known = _pattern([*words, *map(normalize_value, reference.distractors)])
    listed = dict.fromkeys(match[0] for match in known.finditer(text) if not is_negated(text, *match.span()))
    right = [word for word in listed if word in words]
    wrong = [word for word in listed if word not in words]
    extra = len(wrong) + len(listed_beside(stated, [*words, *map(normalize_value, reference.distractors)]))
    value = 2 * len(right) / (len(right) + extra + len(words))
    verdict: Verdict = "found" if value == 1 else "partial" if right else "distractor" if wrong else "wrong"
    if verdict == "wrong" and reading.refusal_end(text) is not None:
        verdict = "refused"
    shown = (", ".join([*right, *wrong]) or text)[:_SHOWN]
    why, details = counted(len(right), len(words), extra, "words"), f1_details(len(right), len(words), extra)
    return Score(value, verdict, shown, why, details)


def _pattern(words: list[str]) -> re.Pattern[str]:
    """Match any of the words, whole in scripts with spaces; the longest of those that begin alike."""
    longest = sorted(filter(None, words), key=len, reverse=True)
    spaced = [re.escape(word) for word in longest if word.isascii()]
    unspaced = [re.escape(word) for word in longest if not word.isascii()]
    return re.compile("|".join([rf"(?<![\w-])(?:{'|'.join(spaced)})(?![\w-])"] * bool(spaced) + unspaced))


# Read is the last list in brackets behind the words `Final Answer`, in capitals or not, in bold, quotes, fences or a
# box, on one line or several; without those words, a list that the answer ends with. `[]` and `none` are the empty set,
# which is worth 1 where the right set is empty. An answer without a list is worth 0, also then.
_LABEL = re.compile(r"(?:final\s+answer|最终答案)", re.IGNORECASE)
_LIST = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]")  # lists within it are its parts
_BRACED = re.compile(r"(?:boxed|text)\s*\{\s*([^{}\[\]]*)\}|\{([^{}\[\]]*)\}")
_NONE = re.compile(r"[\s*_`:：\"'=-]*(?:is|are|是|为)?[\s*_`:：\"'=-]*(?:none\b|empty\b|∅|无|空)", re.IGNORECASE)
_CLOSING = re.compile(r"[\s*_`.。\"'$})]*\Z")
_NODE_SET_NUMBERING = re.compile(r"(?:^|(?<=[\s,;\[]))\d{1,3}[.)](?=\s)")
_NODE_SET_NAME = re.compile(r"\w+")
_EMPTY_WORDS = frozenset(("none", "empty", "无", "空"))
_MARK = 2


def named_nodes(answer: str) -> tuple[str, ...] | None:
    """The nodes in an answer's last list, in small letters, each once; `None` without a list."""
    text = unicodedata.normalize("NFKC", answer).replace("\\[", "").replace("\\]", "")
    end = len(text)
    for label in reversed(list(_LABEL.finditer(text))):
        rest = text[label.end() : end]
        if listed := _LIST.search(rest) or _BRACED.search(rest):
            return _names(next(group for group in listed.groups() if group is not None))
        if _NONE.match(rest):
            return ()
        end = label.start()
    last = next(reversed(list(_LIST.finditer(text))), None)
    return _names(last[1]) if last and _CLOSING.match(text, last.end()) else None


def _names(listed: str) -> tuple[str, ...]:
    names = dict.fromkeys(map(str.casefold, _NODE_SET_NAME.findall(_NODE_SET_NUMBERING.sub("", listed))))
    return () if names.keys() <= _EMPTY_WORDS else tuple(names)


@rule("node_set", 1, whole=True)
def node_set_scorer(answer: str, reference: Reference) -> Score:
    """F1 of the nodes named and the right ones: `parts`, else `answers`; neither: the empty set is right.

    Details: `precision`, `recall`, `exact`, `extra` and `missed` (how many nodes), and for each kind of wrong node in
    `kinds` how many were named (`extra_KIND`). With a `name_key`, `invented`: names that are no node's; every name
    ends with two digits of the sha256 of key and name, which one that is made up has once in 256 times.
    """
    right = {node.casefold() for node in reference.parts or reference.answers}
    named = named_nodes(answer)
    if named is None:
        return Score(0.0, reading.verdict_for(0.0, answer[-4000:]), answer[-_SHOWN:], "no list of nodes")
    hits, total = len(right & set(named)), len(right) + len(named)
    value = 2 * hits / total if total else 1.0
    kinds = {node.casefold(): kind for node, kind in reference.kinds.items()}
    wrong = [node for node in named if node not in right]
    details: Details = {
        "precision": hits / len(named) if named else float(not right),
        "recall": hits / len(right) if right else float(not named),
        "exact": value == 1,
        "extra": len(wrong),
        "missed": len(right) - hits,
    }
    if reference.name_key:
        details["invented"] = sum(
            sha256(f"{reference.name_key} {node[:-_MARK]}".encode()).hexdigest()[:_MARK] != node[-_MARK:]
            for node in wrong
        )
    details |= {f"extra_{kind}": n for kind, n in Counter(kinds[node] for node in wrong if node in kinds).items()}
    verdict: Verdict = "found" if value == 1 else "partial" if value else "wrong"
    why = counted(hits, len(right), len(wrong), "nodes")
    return Score(value, verdict, ", ".join(named)[:_SHOWN], why, details)


# The rule is bAbI's as BABILong scores it, with whole words, denials and conclusions: a concluding last sentence
# decides, else the first sentence that names a label. Of yes, no and maybe only the first clause with one of them
# counts.
_SPELLED = 80  # letters of an answer in which a number may be written as a word
_PIECES = 50  # sentences to look at
_READ = 600  # letters of each of them
_TABLES = tomllib.loads((resources.files(__package__) / "labels.toml").read_text(encoding="utf-8"))
_POLAR: Mapping[str, Sequence[str]] = _TABLES["polar"]
_NUMBERS: Mapping[str, Sequence[str]] = _TABLES["numbers"]
_SENTENCE = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")
_CLAUSE = re.compile(r"[,;:.!?，；：。！？\n]")
_PREFACE = re.compile(r"^\W*(?:the (?:final )?answer is|answer|答案是|答案为|答案|回答)\W*")


@rule("labels", 5)
def labels_scorer(answer: str, reference: Reference) -> Score:
    """1 where the labels named are the right ones, else 0. Details: `named`, with commas.

    Right are `parts`, else `answers`. A reference without any raises `ValueError`.
    """
    right = {label for label in map(normalize_value, reference.parts or reference.answers) if label}
    if not right:
        raise ValueError("the reference has no label to match: give answers or parts")
    labels = [label for label in map(normalize_value, reference.labels) if label] or sorted(right)
    lines = normalize_lines(answer)
    if not lines:
        return Score(0.0, "empty", why="no text")
    text = reading.own_words(lines, normalize(reference.question))
    named = _named(text, labels) - set(map(normalize_value, reference.given))
    shown = ", ".join(sorted(named))[:_SHOWN] or flatten(lines)[:_SHOWN]
    details = {"named": ",".join(sorted(named))}
    if named == right:
        return Score(1.0, "found", shown, "names the right label and no other", details)
    if named:
        return Score(0.0, "wrong", shown, "names another label", details)
    refused = reading.refusal_end(flatten(text)) is not None
    return Score(0.0, "refused" if refused else "wrong", shown, "names no label", details)


def _named(lines: str, labels: Sequence[str]) -> set[str]:
    """The labels of the sentence, or clause, that decides."""
    polar, spelled = all(label in _POLAR for label in labels), reading.weight(lines) <= _SPELLED
    end = reading.conclusion(lines)
    last = lines[end.start :] if end else ""
    pieces = (last, *(_CLAUSE if polar else _SENTENCE).split(lines, _PIECES))
    texts = (_PREFACE.sub("", flatten(piece[:_READ])) for piece in pieces)
    return next(filter(None, (_labels_of(text, labels, polar=polar, spelled=spelled) for text in texts)), set())


def _labels_of(text: str, labels: Sequence[str], *, polar: bool, spelled: bool) -> set[str]:
    """The labels that stand in a text, the longest where they overlap, but for denied ones."""
    table = {label: (label, *_POLAR.get(label, ()), *(_NUMBERS.get(label, ()) if spelled else ())) for label in labels}
    spans = [(span, label) for label, words in table.items() for word in words for span in find_whole(text, word)]

    def is_part(span: Span) -> bool:
        return any(other != span and other.start <= span.start and span.end <= other.end for other, _ in spans)

    whole = [(span, label) for span, label in spans if not is_part(span)]
    return {label for span, label in whole if polar or not is_negated(text, *span)}


# A letter counts where it stands alone and is not denied; `the answer is C` and a box beat labels, and labels
# (`B. ...`) beat what else is said. Letters in words count for nothing.
_MARKUP = re.compile(r"\\(?:text|math)[a-z]*|[*_`#${}\"“”‘’「」【】<>\\]")
# An A before a word in small letters is the article, unless that word goes on about an option.
_LETTER = r"(?:[B-D]|A(?!\s+[a-z])|A(?=\s+(?:and|or|is|are|was|because|since|as|for|but|due)\b))"
_ONE = rf"\(?\s*(?<![A-Za-z0-9_]){_LETTER}(?!\w)\s*\)?"
_BETWEEN = r"(?:\s*(?:[,;/&+或和、]|\band\b|\bor\b))+\s*"
_SPACED = rf"{_ONE}(?:\s+{_ONE})+(?=\W*(?:\n|$))"
_LETTERS = rf"(?:{_SPACED}|{_ONE}(?:{_BETWEEN}{_ONE})*|\b[A-D]{{2,4}}\b)"
_CONCLUDED = re.compile(
    r"(?i:(?:\b(?:answers?|choices?|options?|letters?)\s*(?:(?:is|are|would be|should be|must be)\b\s*:?|[:=])"
    r"|(?:答案|选项|选择)\s*应?该?\s*[是为选]?\s*:?)\s*"
    r"(?:(?:clearly|therefore|both|options?|choices?|letters?)\s+)*)"
    rf"(?:(?P<list>{_LETTERS})(?![\w'’&+-])|(?P<small>[a-d])(?=\s*[.)]?\s*(?:\n|\Z)))"
)
_OPTION_LABEL = re.compile(
    r"(?:^|(?<=[,;/&])|(?<=\band)|(?<=\bor))\s*[-•]?\s*\(?\b([A-D])(?:\)|[.:](?=\s|$))", re.MULTILINE
)
_OPENING = re.compile(rf"\W*(?P<list>{_LETTERS})")
_ALONE = re.compile(rf"(?<![\w'’])(?:{_LETTER}|[A-D]{{2,4}})(?![\w'’])")
_DENIED = re.compile(
    r"(?:\bnot|n['’]t(?:\s+be)?|\bneither|\bnor|\bexcept|\brather than)\s+(?:options?\s+)?\(?$", re.IGNORECASE
)
_LOOK_BACK = 40  # characters before a letter in which it may be denied


def stated_letters(answer: str, *, in_passing: bool = True) -> str:
    """The letters that an answer states, sorted; or nothing. `in_passing`: wherever they stand."""
    text = unicodedata.normalize("NFKC", reading.first_reply(answer)).replace("\\boxed", " answer: ")
    text = _MARKUP.sub("", text).strip()
    bare = text.strip("()[].,:;!' \t\n")
    if len(bare) == 1 and bare in "abcd":
        return bare.upper()
    concluded = [match["list"] or match["small"].upper() for match in _CONCLUDED.finditer(text)]
    if concluded:
        return _spread(concluded[-1])
    labels = "".join(match[1] for match in _OPTION_LABEL.finditer(text) if not _is_denied(text, match.start(1)))
    opening = _OPENING.match(text)
    if opening and (in_passing or labels or opening.end() == len(text.rstrip(" .)!"))):
        return "".join(sorted({*_spread(opening["list"]), *labels}))
    alone = (match[0] for match in _ALONE.finditer(text) if not _is_denied(text, match.start()))
    return "".join(sorted(set(labels))) or (_spread(" ".join(alone)) if in_passing else "")


def _is_denied(text: str, start: int) -> bool:
    return bool(_DENIED.search(text[max(0, start - _LOOK_BACK) : start]))


def _spread(listed: str) -> str:
    """The letters of `A, B and D` and of `ABD`; small letters are words."""
    return "".join(sorted({char for word in re.findall(r"\b[A-D]+\b", listed) for char in word}))


@rule("choice_letter", 2)
def choice_letter_scorer(answer: str, reference: Reference) -> Score:
    """1 for the right letter, `answers[0]`, else 0. Details: `letter`, empty for none or several."""
    letters, right = stated_letters(answer, in_passing=False), expected_text(reference).strip()
    letter = letters if len(letters) == 1 else ""
    details = {"letter": letter}
    if letter:
        if letter == right:
            return Score(1.0, "found", letter, "the right letter", details)
        return Score(0.0, "wrong", letter, f"{letter} is not {right[:20]}", details)
    return Score(0.0, reading.verdict_for(0.0, answer[-4000:]), answer[-_SHOWN:], "gives no one letter", details)
