"""Commands for the people who work on relaybay. Nothing here is part of the package, and nothing in it imports this."""
