"""A run in one sentence, what it rests on, what went wrong, and what would make it surer."""
