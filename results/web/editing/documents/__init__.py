"""Jsonl files of documents with lists of instructions and outputs, as L-Eval has them: edited, and exported."""
