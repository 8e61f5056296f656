"""A server of its own process for test_wait_http.py, with one linked session `h1`: says when it is ready, and when a
wait is open.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from pathlib import Path

from relaybay.api.serving import serve
from tests.api.hooks_rig import HookServer


def main(folder: Path) -> int:
    folder.mkdir(mode=0o700)
    rig = HookServer(folder)

    def watch() -> None:
        while rig.relay.waits.get("wait-0001") is None:
            time.sleep(0.01)
        print(json.dumps({"waiting": 1}), flush=True)

    try:
        rig.row_of_its_own("h1")
        threading.Thread(target=watch, daemon=True).start()
        serve(
            rig.server.app,
            port=0,
            socket_path=folder / "s",
            ready=lambda at: print(json.dumps({"socket": str(at.socket_path)}), flush=True),
        )
    finally:
        rig.relay.close()
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
