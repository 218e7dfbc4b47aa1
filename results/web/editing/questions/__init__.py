"""Files of questions about the user's own documents: pairs that are accepted, edited or rejected."""
