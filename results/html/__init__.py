"""What `report.html` is made of: its template, style sheet and script, and the data that they show."""
