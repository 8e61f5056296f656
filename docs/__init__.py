"""What is written about relaybay, and the one script that draws pages from the tables (`generate.py`)."""
