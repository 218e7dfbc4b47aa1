"""`needlework matrix`: models, servers and options beside each other, as named runs over the same cells."""
