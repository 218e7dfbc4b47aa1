"""Hand-made records of questions on documents."""

from needlework.core.record import SCORED, record_of

ANSWERS = {"found": "Oruro", "wrong": "Potosi", "refused": "NOT FOUND", "empty": ""}


def asked(
    question,
    outcome="found",
    *,
    task="doc_position",
    arm="",
    length=8000,
    depth=50.0,
    repeat=0,
    rule="",
    **fields,
):
    """One trial of a question. `arm`: the label's suffix (`bm25`, `focused`, `absent`, `near`). `rule`: the offline
    rule's verdict, of a judged trial."""
    needle = f"q{question}_{arm}" if arm else f"q{question}"
    absent = arm in ("absent", "near")
    if absent or arm == "focused":
        depth = None
    reference = {"answers": ["Oruro"], "question": "What is the dish called?", "document": "dish.txt"}
    reference |= {"absent": True, "arm": arm} if absent else {"arm": "present"}
    reference |= {"control": arm} if arm == "focused" else {}
    record = {
        "schema": 1,
        "key": f"{task}-{needle}-{length}-{depth}-{repeat}",
        "id": f"{task}-len{length}-depth{depth}-{needle}-r{repeat}",
        "nodeid": "benchmarks/test_documents.py::test_documents",
        "model": "mock",
        "task": task,
        "needle": needle,
        "language": "en",
        "length": length,
        "depth": depth,
        "repeat": repeat,
        "seed": 0,
        "outcome": outcome,
        "score": float(outcome == "found") if outcome in SCORED else None,
        "scorer": "judge_documents" if rule else "documents",
        "scorer_version": 1,
        "why": "",
        "question": "What is the dish called?",
        "expected": ["Oruro"],
        "reference": reference,
        "answer": "",
        "prompt": {"tokens": length - 64, "context_tokens": 800 if arm == "focused" else length - 200, "needles": []},
        "response": {
            "text": ANSWERS.get(outcome, ""),
            "finish_reason": "stop",
            "prompt_tokens": length - 64,
            "completion_tokens": 4,
        },
        "details": {"recipe": "r", "flags": [], **({"score": {"rule": rule}} if rule else {})},
        "error": None,
        "timing": {},
    }
    return record_of(record | fields)
