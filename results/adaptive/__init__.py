"""`--adaptive`: which trials are asked until the effective length is bracketed, and what may be said then. Pure."""
