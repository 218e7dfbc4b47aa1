"""Every planted fault: what users met, how the server does it, and what we have to say of it.

Threads are named as `project#number`.
"""

import time
from dataclasses import dataclass, replace

from needlework.core.prompts import Message
from tests.faults import content, delivery, turns
from tests.faults.turns import Behaviour, usage

HONEST = "honest"
WINDOW = 600  # tokens; the bench's shorter prompts fit, the longer ones do not
_SYSTEM = "--system-prompt=You are a careful librarian. Quote the document exactly, never guess, and keep it short."
_TWELVE = ("--depths=0:100:6",)
_THINKS = ("--lengths=600,900", "--thinking-budget=200")
_IMPATIENT = ("--timeout=4", "--retries=1")
_CANARY = ("--canary",)
_STRICT = ("--strict-model",)
_WHOLE = ("--model-arg=stream=false",)
_SEVERAL = ("--lengths=400", "--depths=50", "--repeats=6")  # each repeat has its own needle


@dataclass(frozen=True, slots=True)
class Expect:
    """How each cell that the fault touched has to be told. Cells that it did not touch are found, without a flag.

    `outcomes`: any of them. `error`: the kind, if the outcome is an error. `invalid`, `flags`: one of them has to be
    among the record's reasons, flags. `attempts`: the least and the most of the record's attempts. `stops`: the run
    ends at once with one line that holds these words. `unstable`: asked again, it has to be told to answer otherwise.
    `clean`: no flag may be raised.
    """

    outcomes: tuple[str, ...]
    error: str = ""
    invalid: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    attempts: tuple[int, int] | None = None
    stops: str = ""
    unstable: bool = False
    clean: bool = False

    @property
    def words(self):
        """In a few words: `invalid server_truncated`."""
        outcomes = " or ".join(self.outcomes)
        kind = f" {self.error}" if self.error else ""
        why = f" {' or '.join(self.invalid)}" if self.invalid else ""
        flag = f", flagged {' or '.join(self.flags)}" if self.flags else ""
        return f"{outcomes}{kind}{why}{flag}{', unstable' * self.unstable}{', run ends' if self.stops else ''}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `number` is its number in the first list of 30, or the next free one; 0 for an honest server.

    `args`: options of the run that shows it.
    """

    number: int
    name: str
    met: str
    behaviour: Behaviour
    expect: Expect
    args: tuple[str, ...] = ()


_CUT = Expect(("invalid",), invalid=("server_truncated",))
_OTHER_PROMPT = Expect(("invalid",), invalid=("token_mismatch", "server_truncated"))
_FOUND = Expect(("found",), clean=True)
_NOT_FOUND = Expect(("wrong", "distractor"))
_STALE = Expect(("invalid",), invalid=("stale_answer",))
_NO_ANSWER = Expect(("censored",))
_REFUSED = Expect(("refused",))
_AT_LAST = Expect(("found",), attempts=(2, 9))
_TRIED_AGAIN = (2, 9)
_ONCE = (1, 1)


def _server_error(kind, attempts=_TRIED_AGAIN):
    return Expect(("error",), error=kind, attempts=attempts)


_TWINS = (
    Fault(0, HONEST, "nothing wrong, streamed", Behaviour(), _FOUND),
    Fault(0, "honest_whole", "nothing wrong, not streamed", Behaviour(), _FOUND, ("--model-arg=stream=false",)),
    Fault(0, "honest_raw", "nothing wrong, completions endpoint", Behaviour(), _FOUND, ("--template=raw",)),
    Fault(0, "honest_system", "nothing wrong, with a system prompt", Behaviour(), _FOUND, (_SYSTEM,)),
    Fault(0, "honest_chinese", "nothing wrong, in Chinese", Behaviour(), _FOUND, ("--language=zh", "--corpus=sanguo")),
    Fault(0, "honest_canary", "nothing wrong, with `--canary`", Behaviour(), _FOUND, _CANARY),
    Fault(0, "honest_again", "nothing wrong, with `--stability`", Behaviour(), _FOUND, ("--stability=6",)),
    Fault(0, "honest_reasoning", "nothing wrong, thinks first", Behaviour(say=content.reasoned), _FOUND, _THINKS),
)

_FIRST_LIST = (
    Fault(1, "truncates_head", "prompt head dropped silently (lm-eval#3115, hiring-agent#403)",
          Behaviour(see=lambda ids, _: ids[-WINDOW:]), _CUT),
    Fault(2, "truncates_middle", "prompt middle dropped (opencompass#1373, LongBench#25)",
          Behaviour(see=content.both_ends(WINDOW)), _CUT),
    Fault(3, "truncates_tail", "prompt tail dropped with the question (nix-ai#475, EuroEval#1354)",
          Behaviour(see=lambda ids, _: ids[:WINDOW]), _CUT),
    Fault(4, "ignores_window", "half the window's tokens read, no error (Ollama#17427, #17889)",
          Behaviour(see=content.half_of(WINDOW, 4)), _CUT),
    Fault(5, "doubles_bos", "second BOS (KVCache-Factory#62)",
          Behaviour(see=lambda ids, _: (ids[0], *ids)), Expect(("found",), flags=("template_difference",))),
    Fault(6, "drops_system", "system prompt dropped",
          Behaviour(take=content.drops_system), _OTHER_PROMPT, (_SYSTEM,)),
    Fault(7, "reasoning_only", "content null, all in reasoning_content (ai-twinkle/Eval#23)",
          Behaviour(say=content.reasoning_only("stop")), _NO_ANSWER),
    Fault(8, "think_never_closed", "unclosed `<think>`, finish reason stop (ds4#1088)",
          Behaviour(say=content.worded(content.never_closed)), _NO_ANSWER),
    Fault(9, "stop_in_reasoning", "stop string inside the reasoning (DeepSeek v4)",
          Behaviour(say=content.worded(content.stopped_inside)), Expect(("censored", "empty"))),
    Fault(10, "length_no_answer", "finish reason length, no answer (RULER#99, omlx#3772)",
          Behaviour(say=content.nothing("length")), _NO_ANSWER),
    Fault(11, "storm_429", "429 with Retry-After on each first try (phoenix#1851, thorfinn#2)",
          Behaviour(admit=delivery.rate_limited(1)), Expect(("found",), attempts=_TRIED_AGAIN)),
    Fault(12, "server_error_first", "500, then 502, then an answer",
          Behaviour(admit=delivery.fails_first(turns.error(500, "CUDA error"), turns.page(502, "Bad Gateway"))),
          Expect(("found",), attempts=(3, 9))),
    Fault(13, "drops_connection", "connection lost within the body",
          Behaviour(send=lambda sent, _: replace(sent, cut=True)), _server_error("server")),
    Fault(14, "hangs", "no byte for longer prompts (evalscope#863, dirac#33)",
          Behaviour(send=delivery.for_longer_prompts(WINDOW, lambda sent, _: replace(sent, wait_s=30.0))),
          _server_error("timeout"), _IMPATIENT),
    Fault(15, "context_400", "400 context length exceeded (OpenThoughts-Agent#115)",
          Behaviour(admit=delivery.above(WINDOW, delivery.too_long)), Expect(("error", "skipped"), error="client",
                                                                     attempts=_ONCE), _TWELVE),
    Fault(16, "rejects_key", "401 for every request",
          Behaviour(everywhere=turns.error(401, "Incorrect API key provided.", "invalid_api_key")),
          Expect(("error",), error="client", stops="Incorrect API key provided")),
    Fault(17, "empty_content", "empty content, finish reason stop",
          Behaviour(say=content.nothing("stop")), Expect(("empty",))),
    Fault(18, "stale_answer", "answer to the previous request (tool-eval-bench#112)",
          Behaviour(say=content.replays), _STALE, _SEVERAL),
    Fault(19, "echoes_prompt", "prompt echoed, as by `echo` of the completions API",
          Behaviour(say=content.worded(lambda turn: turn.rendered())), _NOT_FOUND),
    Fault(20, "lists_candidates", "all candidate values (inspect_evals#2338)",
          Behaviour(say=content.worded(content.listing)), Expect(("wrong", "distractor", "unclear")), _TWELVE),
    Fault(21, "longer_number", "right digits inside a longer number (inspect_evals#2338)",
          Behaviour(say=content.worded(content.longer_number)), _NOT_FOUND, _TWELVE),
    Fault(22, "negation", "'it is not 1234567'",
          Behaviour(say=content.worded(content.denial)), _NOT_FOUND, _TWELVE),
    Fault(23, "refuses", "refusal to give a code",
          Behaviour(say=content.worded(content.refusal)), _REFUSED, _TWELVE),
    Fault(24, "other_digits", "full-width digits, thousands separators (RULER#100)",
          Behaviour(say=content.worded(content.other_form)), _FOUND, _TWELVE),
    Fault(25, "no_usage", "no usage field",
          Behaviour(say=content.counted(lambda *_: None)), Expect(("found",), flags=("no_usage",))),
    Fault(26, "malformed_json", "invalid JSON", Behaviour(send=delivery.garbled), _server_error("protocol", None)),
    Fault(27, "flips", "unstable answer at temperature 0 (vLLM#40896, SGLang#34683)",
          Behaviour(say=content.flips), Expect(("found",), unstable=True), ("--stability=6",)),
    Fault(28, "content_filter", "400 from a content filter (Azure)",
          Behaviour(admit=lambda _: turns.error(400, "The response was filtered.", "content_filter")),
          Expect(("refused",), attempts=_ONCE)),
    Fault(29, "html_200", "HTML error page with status 200",
          Behaviour(send=lambda *_: turns.page(200, "Service temporarily unavailable")),
          _server_error("protocol", None)),
    Fault(30, "slow_stream", "endless trickle for longer prompts",
          Behaviour(send=delivery.for_longer_prompts(WINDOW, delivery.trickles)), _server_error("timeout", None),
          ("--timeout=4", "--retries=0", "--answer-budget=40")),
)  # fmt: skip

_OURS = (
    Fault(31, "sheds_a_little", "window shift loses 12 tokens of 800",
          Behaviour(see=content.sheds(12, WINDOW)), _OTHER_PROMPT),
    Fault(32, "bos_in_chunks", "tokenized in chunks, each with a BOS",
          Behaviour(see=content.bos_in_chunks(64)), _OTHER_PROMPT),
    Fault(33, "joins_lines", "gateway removes white space",
          Behaviour(take=content.joins_lines), _OTHER_PROMPT),
    Fault(34, "system_to_user", "system prompt moved into the user's message (Gemma)",
          Behaviour(take=content.system_to_user), Expect(("found",), flags=("template_difference",)), (_SYSTEM,)),
    Fault(35, "counts_uncached", "usage without cached tokens",
          Behaviour(say=content.counted(content.uncached)), Expect(("found",))),
    Fault(36, "counts_twice", "tokens counted twice",
          Behaviour(say=content.counted(lambda prompt, spent, _: usage(2 * prompt, spent))), _OTHER_PROMPT),
    Fault(37, "counts_by_guess", "proxy estimates four characters a token",
          Behaviour(say=content.counted(lambda _, spent, turn: usage(len(turn.rendered()) // 4, spent))),
          _OTHER_PROMPT),
    Fault(38, "counts_nan", "NaN as count",
          Behaviour(say=content.counted(lambda _, spent, __: usage(0, spent) | {"prompt_tokens": float("nan")})),
          Expect(("found",), flags=("no_usage",))),
    Fault(39, "nan_logprobs", "NaN (invalid JSON) beside the answer",
          Behaviour(send=delivery.edited(delivery.with_nan_logprobs)), _FOUND),
    Fault(40, "no_finish_reason", "finish_reason always null",
          Behaviour(say=lambda said, _: replace(said, finish=None)), Expect(("found",), flags=("no_finish_reason",))),
    Fault(41, "says_stop_at_limit", "cut off at the token limit, finish reason stop",
          Behaviour(say=content.worded(content.ramble)), _NO_ANSWER),
    Fault(42, "reasoning_blocks", "content blocks with reasoning",
          Behaviour(say=content.blocks), _FOUND, _THINKS),
    Fault(43, "reasoning_tags", "reasoning tags of several model families (lm-eval#3216, lmms-eval#1100)",
          Behaviour(say=content.worded(content.tagged)), _FOUND, (*_THINKS, *_TWELVE)),
    Fault(44, "reasoning_to_limit", "thinking budget spent, content null (sieval#11)",
          Behaviour(say=content.reasoning_only("length")), _NO_ANSWER),
    Fault(45, "storm_no_hint", "429 twice without Retry-After (evalscope#1424)",
          Behaviour(admit=delivery.fails_first(*[turns.error(429, "Too many requests")] * 2)),
          Expect(("found",), attempts=_TRIED_AGAIN)),
    Fault(46, "html_503", "503 twice with a proxy's HTML page",
          Behaviour(admit=delivery.fails_first(*[turns.page(503, "Service Unavailable")] * 2)),
          Expect(("found",), attempts=(3, 9))),
    Fault(47, "error_in_200", "status 200 with an error object",
          Behaviour(send=delivery.error_inside), _server_error("server")),
    Fault(48, "no_done", "complete stream without [DONE]", Behaviour(send=delivery.without_done), _FOUND),
    Fault(49, "stream_ends_early", "stream ends regularly after half the answer",
          Behaviour(send=delivery.stops_early), _server_error("server")),
    Fault(50, "swaps_answers", "answers of two concurrent requests swapped",
          Behaviour(say=content.swaps), _STALE, _SEVERAL),
    Fault(51, "cache_by_beginning", "cache keyed by the first 60 characters",
          Behaviour(say=content.replays_alike(60)), _STALE, _SEVERAL),
    Fault(52, "utf8_split", "chunks split within a character",
          Behaviour(send=delivery.split_characters), _FOUND, ("--language=zh", "--corpus=sanguo")),
    Fault(53, "utf8_broken", "invalid UTF-8 in the answer",
          Behaviour(send=delivery.broken_bytes), _server_error("protocol", None)),
    Fault(54, "stop_token_text", "stop token as text after the answer",
          Behaviour(say=content.worded(content.trailing_token)), _FOUND),
    Fault(55, "refuses_in_chinese", "refusal in another language",
          Behaviour(say=content.worded(content.refusal_in_chinese)), _REFUSED),
    Fault(56, "refusal_field", "refusal field, content null",
          Behaviour(say=content.declines_in_field), _REFUSED),
    Fault(57, "filter_finish", "finish reason content_filter, no text",
          Behaviour(say=content.nothing("content_filter")), _REFUSED),
    Fault(58, "tool_call", "unrequested tool call, no text", Behaviour(say=content.calls_tool),
          Expect(("empty",))),
    Fault(59, "tells_window", "server reports its window and refuses longer prompts",
          Behaviour(admit=delivery.above(WINDOW, delivery.too_long), window=WINDOW), Expect(("skipped",))),
    Fault(60, "truncates_uncounted", "prompt head dropped, no usage",
          Behaviour(see=lambda ids, _: ids[-WINDOW:], say=content.counted(lambda *_: None)),
          Expect(("invalid",), invalid=("canary_start_missing",)), (*_CANARY, "--lengths=900")),
    Fault(61, "truncates_and_lies", "prompt head dropped, usage with the full count",
          Behaviour(see=lambda ids, _: ids[-WINDOW:],
                    say=content.counted(lambda _, spent, turn: usage(turn.count(turn.rendered()), spent))),
          Expect(("found", "wrong", "censored", "refused"), flags=("canary_start_missing",)), _CANARY),
    Fault(62, "server_error", "permanent 500 with a proxy's HTML page",
          Behaviour(admit=lambda _: turns.page(500, "Internal Server Error")), _server_error("server")),
    Fault(63, "hangs_up", "connection closed without a byte, first try",
          Behaviour(send=delivery.first_try(lambda sent, _: replace(sent, pieces=(), cut=True))),
          Expect(("found",), attempts=(1, 9))),  # a kept connection is free
    Fault(64, "other_dialect", "carriage returns, comments, event names in the stream",
          Behaviour(send=delivery.other_dialect), _FOUND),
    Fault(65, "counts_in_each_event", "growing usage in every event",
          Behaviour(send=delivery.counts_in_each_event), _FOUND),
    Fault(66, "constant_id", "same id for all answers",
          Behaviour(send=delivery.edited(lambda data, _: data | {"id": "cmpl-1"})), _FOUND, _SEVERAL),
    Fault(67, "appends_message", "gateway repeats the user's message",
          Behaviour(take=lambda messages: (*messages, messages[-1])), _OTHER_PROMPT),
    Fault(68, "adds_system", "gateway adds a constant system prompt",
          Behaviour(take=lambda messages: (Message("system", "Be helpful. Never speak of politics."), *messages)),
          Expect(("found",), flags=("template_difference",))),
    Fault(69, "swaps_model", "another model, by its own name, from the fifth prompt on",
          Behaviour(send=delivery.as_model("oracle-small", since=4)),
          Expect(("found",), flags=("model_changed",)), ("--concurrency=1",)),
    Fault(70, "other_model", "another model, by its own name",
          Behaviour(send=delivery.as_model("oracle-small")), Expect(("found",), flags=("other_model",))),
    Fault(71, "other_model_strict", "the same with `--strict-model`",
          Behaviour(send=delivery.as_model("oracle-small")), Expect(("invalid",), invalid=("other_model",)), _STRICT),
    Fault(72, "dated_model", "dated name of the same model",
          Behaviour(send=delivery.as_model("oracle-2026-08-06")), _FOUND, _STRICT),
    Fault(73, "drips_head", "response headers byte by byte for longer prompts",
          Behaviour(send=delivery.for_longer_prompts(WINDOW, lambda sent, _: replace(sent, drip_s=0.2))),
          _server_error("timeout"), _IMPATIENT),
    Fault(74, "gzip_cut", "gzip without checksum",
          Behaviour(send=delivery.packed(lambda body: body[:-8])), _server_error("protocol")),
    Fault(75, "gzip_other_checksum", "gzip with a wrong checksum",
          Behaviour(send=delivery.packed(lambda body: body[:-8] + bytes(8))), _server_error("protocol")),
    Fault(76, "gzip_whole", "unrequested gzip",
          Behaviour(send=delivery.packed(bytes)), _FOUND),
    Fault(77, "crowded_once", "busy server reports a too long prompt, first try",
          Behaviour(admit=delivery.crowded(WINDOW, 1), window=4000), Expect(("found",), attempts=_TRIED_AGAIN)),
    Fault(78, "crowded", "the same, permanently",
          Behaviour(admit=delivery.crowded(WINDOW, 99), window=4000), _server_error("server"), ("--retries=2",)),
    Fault(79, "too_long_elsewhere", "too long, in ten other servers' words",
          Behaviour(admit=delivery.above(WINDOW, delivery.too_long_elsewhere)), Expect(("skipped",)), _TWELVE),
    Fault(80, "goes_on", "40,000 characters counted as a short answer",
          Behaviour(say=content.goes_on), Expect(("found",), flags=("over_budget",)), _WHOLE),
    Fault(81, "coloured", "terminal colours around the answer", Behaviour(say=content.coloured), _FOUND),
    Fault(82, "second_choice_first", "two choices in reverse order",
          Behaviour(send=delivery.edited(delivery.second_choice_first)), _FOUND, _WHOLE),
    Fault(83, "says_no_error", "error object with code 0 beside each answer",
          Behaviour(send=delivery.edited(lambda data, _: data | {"error": {"code": 0, "message": "ok"}})),
          _FOUND, _WHOLE),
    Fault(84, "many_headers", "150 headers",
          Behaviour(send=lambda sent, _: replace(sent, headers={f"X-Trace-{number}": "1" for number in range(150)})),
          _server_error("protocol")),
    Fault(85, "waits_for_ever", "429 with Retry-After: inf, first try",
          Behaviour(admit=delivery.fails_first(turns.error(429, "slow down", Retry_After="inf"))),
          Expect(("found",), attempts=_TRIED_AGAIN)),
    Fault(86, "accepted", "202 without an answer", Behaviour(admit=lambda _: turns.as_json({}, 202)),
          Expect(("error",), error="client", attempts=_ONCE)),
    Fault(87, "closes_reused", "reused connection closed, `--retries 0`",
          Behaviour(closes_reused=True), Expect(("found",), clean=True, attempts=_ONCE), ("--retries=0",)),
    Fault(88, "error_event", "`event: error` after half the answer, then [DONE]",
          Behaviour(send=delivery.first_try(delivery.breaks_off(delivery.ERROR_EVENT))), _AT_LAST),
    Fault(89, "error_object", "error object after half the answer (vLLM)",
          Behaviour(send=delivery.breaks_off(delivery.ERROR_OBJECT)), _server_error("server")),
    Fault(90, "error_code", "text and error_code after half the answer (FastChat)",
          Behaviour(send=delivery.breaks_off(delivery.ERROR_CODE)), _server_error("server")),
    Fault(91, "error_in_choice", "error inside a choice, no finish reason",
          Behaviour(send=delivery.first_try(delivery.breaks_off(delivery.ERROR_CHOICE))), _AT_LAST),
    Fault(92, "done_too_soon", "[DONE] after half the answer, no finish reason, no counts",
          Behaviour(send=delivery.breaks_off(delivery.DONE)), _server_error("server")),
    Fault(93, "begins_again", "gateway restarts the answer within the stream",
          Behaviour(send=delivery.begins_again(id_changes=False)), _server_error("protocol")),
    Fault(94, "mixes_streams", "chunks of another answer, with its id, in the stream",
          Behaviour(send=delivery.first_try(delivery.begins_again(id_changes=True))), _AT_LAST),
    Fault(95, "repeats_itself", "cumulative text in every event",
          Behaviour(send=delivery.repeats), Expect(("found",), flags=("cumulative_stream",))),
    Fault(96, "data_in_lines", "event data in several lines, with carriage returns",
          Behaviour(send=delivery.data_in_lines), _FOUND),
    Fault(97, "counts_cache_apart", "cache-write tokens counted separately (Anthropic's gateways)",
          Behaviour(say=content.counted(content.cache_apart)), _FOUND),
    Fault(98, "filtered_elsewhere", "content filter in three other services' words",
          Behaviour(admit=delivery.filtered_elsewhere), Expect(("refused",), attempts=_ONCE)),
    Fault(99, "fails_in_context", "permanent 500 that names the context length",
          Behaviour(admit=lambda _: turns.error(500, "cannot allocate the cache for context length 131072")),
          _server_error("server")),
    Fault(100, "waits_until", "429 with Retry-After as a date, first try",
          Behaviour(admit=delivery.fails_first(
              lambda: turns.error(429, "slow down", Retry_After=str(time.time() + 1)))), _AT_LAST),
)  # fmt: skip

CATALOGUE = {fault.name: fault for fault in (*_TWINS, *_FIRST_LIST, *_OURS)}
