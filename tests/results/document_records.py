"""Hand-made records of questions on documents."""

from tests.results.new_record import new_record

ANSWERS = {"found": "Oruro", "wrong": "Potosi", "refused": "NOT FOUND", "empty": ""}


def asked(question, outcome="found", *, task="doc_position", arm="", length=8000, depth=50.0, rule="", **fields):
    """One trial of a question. `arm`: the label's suffix (`bm25`, `focused`, `absent`, `near`). `rule`: the offline
    rule's verdict, of a judged trial."""
    absent = arm in ("absent", "near")
    reference = {"answers": ["Oruro"], "question": "What is the dish called?", "document": "dish.txt"}
    reference |= {"absent": True, "arm": arm} if absent else {"arm": "present"}
    reference |= {"control": arm} if arm == "focused" else {}
    record = {
        "nodeid": "benchmarks/test_documents.py::test_documents",
        "task": task,
        "needle": f"q{question}_{arm}" if arm else f"q{question}",
        "length": length,
        "depth": None if absent or arm == "focused" else depth,
        "outcome": outcome,
        "scorer": "judge_documents" if rule else "documents",
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
        "timing": {},
    }
    return new_record(**(record | fields))
