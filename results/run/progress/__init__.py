"""While cells run: how many are answered, how fast, how much was shared, how long it still takes."""
