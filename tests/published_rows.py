"""Rows of our own in the layouts of the published data sets; none of their text is here."""

import csv
import json
from random import Random
from zipfile import ZipFile

WORDS = ["harbour", "ferry", "lantern", "quarry", "bridge", "sparrow", "willow", "compass", "kettle", "ladder"]


def piece(draw, words=40):
    return f"{' '.join(draw.choice(WORDS) for _ in range(words)).capitalize()}."


def mrcr_row(number, needles=2, rounds=6, added="12-05-2025"):
    """A conversation in which an ask comes `needles` times; the second of its pieces is wanted."""
    draw = Random(number)
    asks = ["write a poem about kites"] * needles + ["write a riddle about boats"] * (rounds - needles)
    draw.shuffle(asks)
    messages = [{"role": "user", "content": "Here is an example.\n======EXAMPLE======\nUser: hello"}]
    for ask in asks:
        messages += [{"role": "user", "content": ask}, {"role": "assistant", "content": piece(draw)}]
    wanted = [at for at, message in enumerate(messages) if message["content"].endswith("kites")][1]
    string = "".join(draw.choice("abcdefGHIJ0123") for _ in range(10))
    messages.append({"role": "user", "content": f"Prepend {string} to the 2nd (1 indexed) poem about kites."})
    prompt = json.dumps(messages)
    return {
        "prompt": prompt,
        "answer": string + messages[wanted + 1]["content"],
        "random_string_to_prepend": string,
        "n_needles": needles,
        "desired_msg_index": wanted,
        "total_messages": len(messages),
        "n_chars": len(prompt),
        "date_added": added,
    }


def deepmind_row(number, needles=2):
    row = mrcr_row(number, needles)
    messages = json.loads(row["prompt"])[1:-1]
    rounds = zip(messages[::2], messages[1::2], strict=True)
    written = "".join(f"\n\nUser: {ask['content']}.\n\nAssistant: {reply['content']}" for ask, reply in rounds)
    string = f"{row['random_string_to_prepend']}Zz"
    final = f"Prepend {string} to the second poem about kites."
    return {
        "queries": f"Here are examples.{written}\n\nUser: {final}\n\nAssistant:",
        "view_ops": final,
        "answer": f"{string} {row['answer'][10:]}",
        "context_len": 400,
        "relevant_context_positions": str([(1, 2)] * needles),
    }


def graph_row(number, kind="parents", edges=30, added="02-27-2026"):
    draw = Random(number)
    listed = [(f"{draw.getrandbits(40):010x}", f"{draw.getrandbits(40):010x}") for _ in range(edges)]
    source, target = listed[3]
    prompt = "Example:\nOperation:\nFind the parents of b.\nFinal Answer: [a]\n\nThe graph has these edges:\n"
    prompt += "\n".join(f"{one} -> {other}" for one, other in listed)
    prompt += f"\n\nOperation:\nFind the parents of {target if number else source}."
    return {
        "prompt": prompt,
        "answer_nodes": [source] if number else [],  # nothing leads to the first one
        "prompt_chars": len(prompt),
        "problem_type": kind,
        "date_added": added,
    }


def longbench_row(number, words=200):
    draw = Random(number)
    return {
        "_id": f"66ab{number:04x}",
        "domain": ["Single-Document QA", "Code Repository Understanding"][number % 2],
        "sub_domain": "Stories",
        "difficulty": ["easy", "hard"][number % 2],
        "length": ["short", "medium", "long"][number % 3],
        "question": f" What did keeper {number} carry?\n",
        "choice_A": "a lamp", "choice_B": "a rope", "choice_C": "a book", "choice_D": "an oar",
        "answer": "ABCD"[number % 4],
        "context": f"It begins. {' '.join(draw.choice(WORDS) for _ in range(words))} It ends.\n",
    }  # fmt: skip


def written(path, rows):
    """The rows in a file of the kind that its name says; returns the path."""
    if path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    else:
        pyarrow = __import__("pyarrow.parquet")
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path, row_group_size=2)
    return str(path)


_LCR_COLUMNS = (
    "document_category", "document_set_id", "question_id", "question", "answer", "data_source_filenames",
    "data_source_urls", "input_tokens",
)  # fmt: skip
_LCR_TEXTS = {
    "laws": {"Act – 2024.txt": "The act has 12 sections.", "b.txt": "It was passed in May."},
    "firms": {"c.txt": "Sales: 7 %."},
}
_LCR_ROWS = [
    ("Legal", "laws", 1, "How many sections has the act?", "12", "b.txt;Act – 2024.txt"),
    ("Legal", "laws", 2, "When was it passed?", "May", "b.txt"),
    ("Company_Documents", "firms", 3, "What are the sales?", "0.07", "c.txt"),
    ("Company_Documents", "firms", 4, "What is in the lost report?", "nothing", "lost.txt"),
]


def write_copy(folder, *, packed=False):
    """Write a small AA-LCR; `packed`: its texts in a zip, with a garbled name. The fourth question lacks its text."""
    with (folder / "AA-LCR_Dataset.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(_LCR_COLUMNS)
        rows.writerows((*row, "https://example.org", 90_000) for row in _LCR_ROWS)
    files = [(f"lcr/Any/{name}/{file}", text) for name, texts in _LCR_TEXTS.items() for file, text in texts.items()]
    if packed:
        with ZipFile(folder / "texts.zip", "w") as archive:
            for path, text in files:
                archive.writestr(path.replace("–", "ΓÇô"), text)
    for path, text in () if packed else files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return str(folder)
