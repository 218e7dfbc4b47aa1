"""A batch service: it asks a server every line of a file, and writes an output file and an error file, as OpenAI does.

`python tests/batch_runner.py requests.jsonl http://127.0.0.1:8080/v1 output.jsonl errors.jsonl`
"""

import json
import random
import sys
import urllib.error
import urllib.request
from pathlib import Path


def run_batch(requests, base_url, output, errors):
    """Answer each line, in an order of its own; returns how many were answered, and how many failed."""
    lines = [json.loads(line) for line in requests.read_text(encoding="ascii").splitlines()]
    assert len({line["custom_id"] for line in lines}) == len(lines), "two requests have one id"
    random.Random(0).shuffle(lines)
    done: dict[bool, list[str]] = {True: [], False: []}
    for number, line in enumerate(lines):
        status, body = _ask(base_url.removesuffix("/v1") + line["url"], line["method"], line["body"])
        answer = {
            "id": f"batch_req_{number}",
            "custom_id": line["custom_id"],
            "response": {"status_code": status, "request_id": f"r{number}", "body": body},
            "error": None,
        }
        done[status == 200].append(json.dumps(answer) + "\n")
    output.write_text("".join(done[True]), encoding="utf-8")
    errors.write_text("".join(done[False]), encoding="utf-8")
    return len(done[True]), len(done[False])


def _ask(url, method, body):
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


if __name__ == "__main__":
    requests_file, url, *files = sys.argv[1:]
    print("{} answered, {} failed".format(*run_batch(Path(requests_file), url, *map(Path, files))))
