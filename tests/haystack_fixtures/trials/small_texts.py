"""Small data of ours in the layouts that families read: L-Eval's rows, a folder of documents, SQuAD's questions."""

import json


def small_texts(folder):
    """Write `tpo.jsonl`, `financial_qa.jsonl`, `documents/`, `asked.json` (questions about them), `squad.json`."""
    for name, evaluation in (("tpo", "exam"), ("financial_qa", "LLM"), ("financial_qa", "f1")):
        with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(_leval_row(evaluation)) + "\n")
    (folder / "documents").mkdir()
    for n in range(18):
        text = f"Light {n}\n\nThe light on rock {n} was kept by Keeper{n} for {n + 3} years. "
        text += " ".join(f"In year {year} rock {n} had {year * (n + 2) % 97} visitors." for year in range(6))
        (folder / "documents" / f"light{n}.txt").write_text(text, encoding="utf-8")
    asked = {
        str(n): {"question": f"Who kept the light on rock {n}?", "answer": f"Keeper{n}", "answer_doc": f"light{n}.txt"}
        for n in range(2)
    }
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    paragraphs = [
        {
            "context": f"The harbour of colony {n} was built by engineer Q{n}. Ships called there in all seasons.",
            "qas": [{"id": str(n), "question": f"Who built the harbour of {n}?", "answers": [{"text": f"Q{n}"}]}],
        }
        for n in range(8)
    ]
    squad = {"version": "v2.0", "data": [{"title": "Harbours", "paragraphs": paragraphs}]}
    (folder / "squad.json").write_text(json.dumps(squad), encoding="utf-8")


def _leval_row(evaluation):
    lines = [f"Ledger line {n}: the mill at ford {n % 17} sold {n * 37 % 101} sacks of barley. " for n in range(60)]
    return {
        "input": "".join(lines),
        "instructions": ["Which ford?\nA. one\nB. two", "What was sold?\nA. barley\nB. oats"],
        "outputs": ["B", "A"],
        "evaluation": evaluation,
    }
