"""How files are written, whole or not at all, and many small values as JSON."""
