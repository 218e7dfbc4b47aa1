"""A small data set in the layout of AA-LCR."""

import csv
from zipfile import ZipFile

COLUMNS = (
    "document_category", "document_set_id", "question_id", "question", "answer", "data_source_filenames",
    "data_source_urls", "input_tokens",
)  # fmt: skip
TEXTS = {
    "laws": {"Act – 2024.txt": "The act has 12 sections.", "b.txt": "It was passed in May."},
    "firms": {"c.txt": "Sales: 7 %."},
}
ROWS = [
    ("Legal", "laws", 1, "How many sections has the act?", "12", "b.txt;Act – 2024.txt"),
    ("Legal", "laws", 2, "When was it passed?", "May", "b.txt"),
    ("Company_Documents", "firms", 3, "What are the sales?", "0.07", "c.txt"),
    ("Company_Documents", "firms", 4, "What is in the lost report?", "nothing", "lost.txt"),
]


def write_copy(folder, *, packed=False):
    """Write a copy; `packed`: its texts in a zip, with a garbled name. The fourth question lacks its text."""
    with (folder / "AA-LCR_Dataset.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        rows.writerows((*row, "https://example.org", 90_000) for row in ROWS)
    files = [(f"lcr/Any/{name}/{file}", text) for name, texts in TEXTS.items() for file, text in texts.items()]
    if packed:
        with ZipFile(folder / "texts.zip", "w") as archive:
            for path, text in files:
                archive.writestr(path.replace("–", "ΓÇô"), text)
    for path, text in () if packed else files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return str(folder)
