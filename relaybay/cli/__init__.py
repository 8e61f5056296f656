"""The command line: Click commands that talk to the running server over its Unix socket.

What belongs here: options, help, printing, exit codes, and starting or ending the server's process. What does not:
rules, SQL, and sentences of refusals (`specs/answers/cli.toml`). Each command is imported when it is called
(`root.py`), because start-up time is a measured figure (PERF-10).
"""
