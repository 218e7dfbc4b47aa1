"""RULER's list of common words, re-implemented from its description (it is on no index)."""

import random
from collections.abc import Callable, Sequence

_COMMON, _OFTEN, _SELDOM = 10, 30, 3
_ANSWER = 120  # tokens kept free for the answer
_FEWEST, _SAMPLE = 10, 4096


def ruler_common_words(length: int, encode: Callable[[str], list[int]], words: Sequence[str]) -> str:
    """One prompt of a length in tokens: ten words thirty times, others three times, all numbered.

    A sample of 4096 words tells about how many words may fit; how many do is searched for by halving from ten to twice
    that number, and each list that is tried is drawn, written and encoded whole.
    """

    def listed(count: int, often: int, seldom: int) -> str:
        drawn = random.sample(words, count)
        entries = drawn[:_COMMON] * often + drawn[_COMMON:] * seldom
        random.shuffle(entries)
        return " ".join(f"{number}. {word}" for number, word in enumerate(entries, 1))

    def prompt(count: int) -> str:
        ask = "Below is a numbered list of words. Memorize those that appear most often.\n{}\nWhich are the ten?"
        return "\n".join((ask.format(listed(40, 10, _SELDOM)), ask.format(listed(count, _OFTEN, _SELDOM))))

    def fits(count: int) -> bool:
        return len(encode(prompt(count))) + _ANSWER <= length

    tokens_a_line = len(encode(prompt(_SAMPLE))) / _SAMPLE
    low, high, best = _FEWEST, max(int(length // tokens_a_line) * 2, 2 * _FEWEST), _FEWEST
    while low <= high:
        middle = (low + high) // 2
        if fits(middle):
            low, best = middle + 1, middle
        else:
            high = middle - 1
    while not fits(best) and best > _FEWEST:
        best -= _FEWEST
    return prompt(best)
