"""The command hook: a few small files that an agent client starts once per event.

They import nothing of relaybay and only the standard library (CMD-6), because `relaybay setup` copies the
files named in `FILES`, side by side, to the data folder, and the agent client runs that copy with a bare
interpreter. `hook.py` alone is the program; it stays tiny, since the interpreter compiles a script at every
start, while what it imports is compiled once. Whatever is not needed to hand an event over does not belong
here: what reads the spool is `relaybay/spool.py`, on the server's side.
"""

FILES = ("hook.py", "event.py", "wire.py", "spool_writer.py", "wake.py")
