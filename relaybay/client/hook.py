"""The command hook of relaybay: hands one event of an agent client to the local server and prints the answer.

    <base python> -I -S hook.py (--home DIR | --run DIR --state DIR) [--client NAME] [--deadline-ms N]
    <base python> -I -S hook.py ... --wait [--wait-s N]              the wake-up (asyncRewake at Stop)

Whatever happens it ends with status 0, no traceback and nothing printed but the server's own answer; `--wait`
alone may end with 2, together with text on stderr (CMD-1 to 6). This file is only the door: the interpreter
compiles it at every start, and what stands in `event.py` and its neighbours is compiled once and kept
(PERF-4).
"""

import posix
import sys


def main():
    """Runs the hook and ends the process without the interpreter's tidy-up, which costs time and can print."""
    status = 0
    try:
        if __name__ == "__main__":
            # The neighbours import each other as a package; a bare interpreter knows none, so it is given
            # one.
            package = type(sys)("relaybay_hook")
            package.__path__ = [__file__.rpartition("/")[0] or "."]
            sys.modules["relaybay_hook"] = package
            from relaybay_hook.event import run
        else:
            from relaybay.client.event import run
        status = run(sys.argv[1:], posix.environ)
    except BaseException:  # Fail open: no fault of ours may reach the agent.
        status = 0
    posix._exit(status)


if __name__ == "__main__":
    main()
