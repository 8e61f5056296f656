"""Puts one case into a namespace that has only loopback, and takes everything down afterwards.

pytest itself stays outside. For each case it starts ``unshare`` with ``python -m tests.live.run CASE CLIENT``;
that process brings loopback up, runs the stub, the server and the client as its own children, and writes a report
(JSON) that pytest asserts on. So no packet can leave the machine, whatever the client tries, and a case that
hangs is ended together with all it started. ``unshare`` replaces itself by Python, so its process id is the case's.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType

from tests.live.client import ClientHome, Session, have_tmux
from tests.live.processes import adopt_orphans, end_descendants, end_process
from tests.live.product import Product
from tests.live.stub_api import StubApi

REPOSITORY = Path(__file__).resolve().parents[2]
CASE_SECONDS_MAX = 120
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1


@dataclass
class Report:
    """What a case left: whether all assertions held, figures it measured, and what explains a failure."""

    case: str
    client: str
    ok: bool = False
    seconds: float = 0.0
    figures: dict[str, float] = field(default_factory=dict)
    error: str = ""
    log: list[str] = field(default_factory=list)


class CaseAborted(Exception):  # noqa: N818
    """The case ran out of time or was told to end."""


@dataclass
class Bench:
    """What a case works with, inside the namespace."""

    root: Path
    api: StubApi
    home: ClientHome
    product: Product
    report: Report

    def session(self, folder_name: str) -> Session:
        return self.home.session(folder_name)

    def serve(self, *setup_options: str) -> None:
        """Start the server and let ``relaybay setup claude-code`` write hooks and MCP server into the client's home."""
        self.product.start()
        self.product.set_up_client(*setup_options)

    def note(self, text: str) -> None:
        self.report.log.append(text)

    def measure(self, name: str, value: float) -> None:
        self.report.figures[name] = round(value, 3)


Case = Callable[[Bench], None]


def what_is_missing() -> str:
    """Why no case can run here; empty when one can."""
    if not sys.platform.startswith("linux"):
        return "network namespaces need Linux"
    if shutil.which("unshare") is None:
        return "unshare (util-linux) is not installed"
    if not have_tmux():
        return "tmux is not installed"
    if not _may_unshare():
        return "unshare may not make a network namespace here"
    return ""


def _unshare() -> list[str]:
    # Without root a user namespace has to be made as well, in which we count as root.
    return ["unshare", "-n" if os.geteuid() == 0 else "-rn"]


@functools.cache
def _may_unshare() -> bool:
    return subprocess.run([*_unshare(), "true"], capture_output=True, check=False).returncode == 0


def run_case(case: str, client: Path, *, module: str = "tests.live.run") -> Report:
    """Run ``case`` with ``client`` in a namespace of its own, called from outside; gives the report, failed or not."""
    with tempfile.TemporaryDirectory(prefix="rb-live-") as folder:
        report_file, output_file = Path(folder, "report.json"), Path(folder, "output.txt")
        command = [*_unshare(), sys.executable, "-m", module, case, str(client), "--report", str(report_file)]
        with output_file.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
            try:
                # The case ends itself when its time is over; the rest is for its tidying up.
                process.wait(CASE_SECONDS_MAX + 30)
            except subprocess.TimeoutExpired:
                end_process(process.pid, 15.0)
            finally:
                if process.poll() is None:
                    end_process(process.pid, 15.0)
                    process.wait()
        output_text = output_file.read_text(errors="replace")
        if not report_file.exists():
            return Report(case, str(client), error=f"no report, exit code {process.returncode}", log=[output_text])
        report = Report(**json.loads(report_file.read_text()))
        if output_text.strip():
            report.log.append("output of the case:\n" + output_text[-6000:])
        return report


def explain(report: Report) -> str:
    """The report as text for a failed test."""
    lines = [
        f"{report.case} with {report.client}, {report.seconds:.1f} s, figures {report.figures}",
        report.error,
    ]
    return "\n".join([*lines, *report.log])


def run_inside(name: str, case: Case, client: Path, report_file: Path) -> int:
    """Run ``case`` here, in the namespace; writes the report and gives the exit code."""
    report = Report(name, str(client))
    started = time.monotonic()
    _end_in_time()
    adopt_orphans()
    _loopback_up()
    # A short path: the server's Unix socket lies below it and may have 107 bytes.
    root = Path(tempfile.mkdtemp(prefix="rb-"))
    api = StubApi()
    home = ClientHome(root, client, api.url)
    product = Product(root / "rb", home, REPOSITORY)
    bench = Bench(root, api, home, product, report)
    try:
        home.prepare()
        case(bench)
        assert not api.faults, api.faults
        report.ok = True
    except BaseException:
        report.error = traceback.format_exc()
        with contextlib.suppress(Exception):
            _add_evidence(bench)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(Exception):
            product.stop()
        ended = end_descendants()
        report.log += [f"had to be ended: {line}" for line in ended]
        api.close()
        shutil.rmtree(root, ignore_errors=True)
        report.seconds = round(time.monotonic() - started, 2)
        report_file.write_text(json.dumps(asdict(report)))
    return 0 if report.ok else 1


def _end_in_time() -> None:
    def abort(number: int, frame: FrameType | None) -> None:
        raise CaseAborted(signal.Signals(number).name)

    signal.signal(signal.SIGALRM, abort)
    signal.signal(signal.SIGTERM, abort)
    signal.alarm(CASE_SECONDS_MAX)


def _loopback_up() -> None:
    """What ``ip link set lo up`` does, without needing iproute2; refuses to go on where there is any other way out."""
    others = {name for _, name in socket.if_nameindex()} - {"lo"}
    assert not others, f"not in a namespace of its own: {sorted(others)}"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(handle, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def _add_evidence(bench: Bench) -> None:
    for number, request in enumerate(bench.api.requests()):
        last = json.dumps(request.body.get("messages", [])[-2:], ensure_ascii=False)
        bench.note(
            f"request {number}: session {request.session_id[:8]} agent {request.agent_id or '-'} "
            f"tools {len(request.body.get('tools', []))} answered {request.answer}\n  ... {last[-1500:]}"
        )
    bench.note(f"faults {bench.api.faults}, other calls {bench.api.others}")
    for path, size in ((bench.product.log_file, 5000), (bench.product.hook_log_file, 2000)):
        if path.exists():
            bench.note(f"{path.name}:\n{path.read_text(errors='replace')[-size:]}")
    for path in (bench.home.home / ".claude" / "settings.json", bench.home.home / ".claude.json"):
        if path.exists():
            bench.note(f"{path.name}:\n{path.read_text()[:4000]}")
