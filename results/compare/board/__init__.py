"""`needlework leaderboard` and `needlework history`: many runs beside each other, read from their indexes."""
