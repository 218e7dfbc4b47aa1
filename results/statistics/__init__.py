"""What may be said about scores beyond their means: depth, length and run effects, each with its uncertainty."""
