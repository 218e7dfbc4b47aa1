"""Is what we reported of a fault what the catalogue expects? The server's own log says which cells it touched."""

import re
from collections import Counter

PASSED, VOID = 0, 11
_LONGEST_LINE = 400
_VOUCHES = {"canaries_found"}  # flags that speak for a cell


def told(record):
    """A record's classification in a few words: `invalid server_truncated`, `found (no_usage)`."""
    details = record["details"]
    kind = record["error"]["kind"] if record["error"] else "+".join(details.get("invalid", ()))
    again = ["unstable"] if any(each["outcome"] != record["outcome"] for each in details.get("stability", ())) else []
    flags = f" ({', '.join([*details['flags'], *again])})" if details["flags"] or again else ""
    return f"{record['outcome']} {kind}".strip() + flags


def summary(ran):
    """All cells: `3 found, 3 invalid server_truncated`."""
    counts = Counter(told(record) for record in ran.records)
    return ", ".join(f"{count} {words}" for words, count in sorted(counts.items())) or "nothing recorded"


def complaints(fault, ran, seen):
    """What is wrong with our report, one line each; none if the fault was classified right in every cell."""
    found = list(_of_run(fault, ran))
    if fault.expect.stops:
        return found + [line for record in ran.records for line in _of_cell(fault, record, touched=True)]
    touched = 0
    for record in ran.records:
        sent = seen.get(record["prompt"].get("sha256", ""))
        # A cell that was never asked was refused by our own harness, for the server's reasons.
        hit = sent is None or sent.touched
        touched += hit
        found += [f"{record['id']}: {line}" for line in _of_cell(fault, record, touched=hit)]
        if sent is not None and sent.hasty:
            found.append(f"{record['id']}: asked again before the time that the server named, {sent.hasty} times")
    if not ran.records:
        said = [line for line in ran.output.splitlines() if line.strip()]
        found.append(f"no records: {said[-1] if said else 'nothing was printed'}")
    elif fault.number and not touched:
        found.append("the fault touched no cell")
    return found


def _of_cell(fault, record, *, touched):
    expect, details, words = fault.expect, record["details"], told(record)
    if not touched or fault.number == 0:
        if words != "found" and (record["outcome"], set(details["flags"])) != ("found", _VOUCHES):
            yield f"{words}, where nothing was wrong"
        return
    if record["outcome"] not in expect.outcomes:
        yield f"{words}, not {expect.words}"
        return
    if record["outcome"] == "error" and record["error"]["kind"] != expect.error:
        yield f"{words}, not {expect.words}"
    if expect.invalid and not set(expect.invalid) & set(details.get("invalid", ())):
        yield f"{words}, not {expect.words}"
    if expect.flags and not set(expect.flags) & set(details["flags"]):
        yield f"{words}, not {expect.words}"
    if expect.clean and set(details["flags"]) - _VOUCHES:
        yield f"{words}, where no flag is due"
    if expect.unstable and all(each["text"] == record["response"]["text"] for each in details.get("stability", ())):
        yield f"{words}, and no word of another answer"
    if expect.attempts and record["outcome"] != "skipped":
        least, most = expect.attempts
        if not least <= record["timing"]["attempts"] <= most:
            yield f"{words} after {record['timing']['attempts']} attempts, not {least} to {most}"


def _of_run(fault, ran):
    if "Traceback" in ran.output or "INTERNALERROR" in ran.output:
        yield "a traceback"
    if fault.expect.stops:
        lines = [line for line in ran.output.splitlines() if re.search(fault.expect.stops, line)]
        if not any("stopped" in line and len(line) < _LONGEST_LINE for line in lines):
            yield f"no line says that the run stopped: {fault.expect.stops}"
        if ran.status == PASSED:
            yield "exit code 0"
        return
    void = [record for record in ran.records if record["outcome"] in ("invalid", "error")]
    wanted = VOID if void else PASSED
    if ran.status != wanted:
        yield f"exit code {ran.status}, not {wanted}"
