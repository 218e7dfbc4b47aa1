"""`needlework compare`: two runs trial by trial, or several against the first."""
