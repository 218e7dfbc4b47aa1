"""`needlework export`: a run's trials in the files of other systems."""
