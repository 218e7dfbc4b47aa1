"""The pages for people: a small web app on 127.0.0.1 (`needlework serve`)."""
