"""Junk: texts that no option wants, valid files with a little damage, and what must be true of every complaint."""

import json
import os
import resource
import signal
import sys
from contextlib import contextmanager
from typing import Any

from hypothesis import strategies as st

from needlework.core.errors import InputError

SEED = int(os.environ.get("NEEDLEWORK_FUZZ_SEED", "0"))
ROUNDS = int(os.environ.get("NEEDLEWORK_FUZZ_ROUNDS", "1"))
HANG_S = 20
MOST_BYTES = 1_500_000_000  # more memory than before, at the worst

ODD_WORDS = (
    "", " ", "\0", "\n", "\r\n", "\t", "-", "--", "=", ":", ",", ",,", "::", "a:b:c", "/", "..", ".", "~",
    "~nobody", "~\0", "0", "-0", "-1", "1", "²", "٣", "１２", "1e3", "1e309", "-1e309", "inf", "nan", "0x10",
    "1_000", "1.5", ".5", "5.", "+5", "9" * 25, "9" * 400, "9" * 5000, "0:1k", "0:0:0", "1:1:1", "1k:2k",
    "1:9:999999999999", "1:1m:1000000", "1:2:3:4", "0:100:-1", "100:0:5", "1k:128k:2", "0.001k", "1kk", "k", "1m1",
    "50%", "%", "nan:nan:3", "inf:inf:2", "true", "false", "yes", "None", "null", "{}", "[]", "[1]", '{"a": 1}',
    '{"a":' * 3000, "[" * 100_000, "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\u202egnp.exe", "\ud800", "\udfff",
    "\ufeff", "\u2028", "é", "中文", "👩‍👩‍👧", "a" * 300, "x" * 100_000, "/" + "d/" * 3000, "/dev/null",
    "/dev/null/x", "/proc/self/mem", "/nowhere/x.toml", "nowhere.toml", "nowhere.jsonl", "x.toml:y", ".toml",
    "\0.toml", "a\0b.jsonl", "mock:", "mock:sleep=", "mock:sleep=nan", "mock:die=1e999", "hf:", "gguf:", "gguf:\0",
    "openai:", "tiktoken:", "tiktoken:\0", "hf:\0", "cdme:", "cdme:\0", "hf::", "http://", "http://[",
    "http://[::1", "http://:x/", "http://a:99999/", "HTTP://127.0.0.1:1", "score", "score >= ", "score >= 0.9 [",
    "score >= 0.9 []", "score >= 0.9 [depth=..]", "score >= 0.9 [length=\ud800]", "score >= 9" + "9" * 400,
    "score>=.", "score >= 1 per", "score >= 0.5 [task=,]", "lower_bound > 1e5", "score >= ٠.٥",
    "score >= 0.5 [length=²]", "a=b", "=b", "a=", "extra_body={", 'extra_body={"a":' * 2000, "window=²",
    "window=1e5", "temperature=nan", "seed=-1", "header.=x", "header.A=ENV:", "header.A=ENV:\0", "header.A=ENV:=",
    "proxy=http://[", "proxy=\0", "stream=maybe", "window=" + "9" * 5000, "dtype=dance", "device=\0",
    "rope_scaling=[", "prefill_chunk=-1", "en,zh,xx", "a\nb", "EN", "niah", "niah,nope", "quick", "list",
)  # fmt: skip

junk = st.one_of(
    st.sampled_from(ODD_WORDS),
    st.text(max_size=20),
    st.text(alphabet="0123456789kmKM:,.%-+ eE=[]<>~/\\\0²٣\n", max_size=20),
    st.tuples(st.sampled_from(ODD_WORDS), st.sampled_from(ODD_WORDS)).map("".join),
)


class HangError(BaseException):
    """It took longer than anything may take. No `Exception`: nothing that is tested catches it."""


@contextmanager
def bounded(seconds=HANG_S):
    """Fail where the block hangs or eats memory without end."""

    def stop(*_):
        raise HangError(f"over {seconds} s")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * (1 if sys.platform == "darwin" else 1024) < MOST_BYTES, "gigabytes of memory"


def complaint(action):
    """The one line that an action complains in, empty where it does not; anything but an `InputError` is a fault."""
    with bounded():
        try:
            action()
        except InputError as error:
            check_line(str(error))
            return str(error)
    return ""


def check_line(line):
    """One line, not endless, nothing in it that a terminal obeys, and no word of a programmer's."""
    assert len(line.splitlines()) == 1, line
    assert line.isprintable(), ascii(line)
    assert len(line) < 1000, line
    assert "Traceback" not in line
    assert line.count(": ") >= 2, f"what, value and remedy: {line}"


def damaged(data, chance):
    """The same bytes with one to four small faults: flipped bits, a cut, a hole, a repeat, something put in."""
    spoilt = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(spoilt) + 1)
        size = chance.choice((1, 2, 7, 60, 400))
        match chance.randrange(6):
            case 0 if spoilt:
                spoilt[min(at, len(spoilt) - 1)] ^= 1 << chance.randrange(8)
            case 1:
                del spoilt[at:]
            case 2:
                del spoilt[at : at + size]
            case 3:
                spoilt[at:at] = spoilt[at : at + size] * chance.choice((1, 2, 50))
            case 4:
                spoilt[at:at] = chance.choice(ODD_WORDS).encode("utf-8", "surrogatepass")[:2000]
            case _:
                spoilt[at:at] = chance.randbytes(size)
    return bytes(spoilt)


ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, -0.0, 10**30, 10**400, -(10**30), "", "x", "\0", "\ud800", "\x1b[2J", "NaN",
    "9" * 5000, [], {}, [None], [[]], {"": None}, {"a": {"b": []}}, ["x"] * 50, "a" * 100_000, float("nan"),
    float("inf"),
)  # fmt: skip


def swapped(value, chance):
    """The same JSON value with one part of it replaced by something of another type, left out, or named otherwise."""
    parts = list(_parts(value))
    if not parts:
        return chance.choice(ODD_VALUES)
    whole, holder, key = chance.choice(parts)
    what = chance.randrange(8)
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, dict):
        holder[chance.choice(ODD_WORDS)[:50]] = holder.pop(key)
    else:
        holder[key] = chance.choice(ODD_VALUES)
    return whole


def _parts(value):
    value = json.loads(json.dumps(value))
    todo = [value]
    while todo:
        holder = todo.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            yield value, holder, key
            if isinstance(holder[key], (dict, list)):
                todo.append(holder[key])
