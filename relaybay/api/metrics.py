"""`/metrics` in Prometheus' text form: counts alone, no name, id or text. It needs no login, as `/healthz`."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sanic import HTTPResponse, Request

from relaybay import __version__
from relaybay.api.calls import run
from relaybay.api.commits import Commits
from relaybay.api.mcp import McpSurface
from relaybay.api.routes import Routes
from relaybay.service.figures import figures
from relaybay.service.relay import Relay

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_STARTED: Final = time.time()
# ru_maxrss is in KiB, except on macOS.
_RSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024


def register_metrics(
    routes: Routes, relay: Relay, surface: McpSurface | None = None, commits: Commits | None = None
) -> None:
    """Adds `GET /metrics`. `surface` counts tool calls, `commits` open streams and long polls."""

    async def metrics(_: Request) -> HTTPResponse:
        data = (await run(relay, figures, read=True)).data
        lines = [*_relay(data), *_process(), *_surface(surface, commits)]
        return HTTPResponse("\n".join(lines) + "\n", content_type=CONTENT_TYPE)

    routes.op("GET", "/metrics", "metrics", metrics, door="open")


def _family(name: str, kind: str, said: str, values: Mapping[str, float]) -> Iterator[str]:
    """One metric with its samples; a sample's key is its labels, already written, or the empty string."""
    yield f"# HELP {name} {said}"
    yield f"# TYPE {name} {kind}"
    for labels, value in sorted(values.items()):
        yield f"{name}{labels} {value}"


def _by(label: str, counts: Mapping[str, int]) -> dict[str, float]:
    return {f'{{{label}="{value}"}}': count for value, count in counts.items()}


def _relay(data: dict[str, Any]) -> Iterator[str]:
    yield from _family("relaybay_sessions", "gauge", "Rows by activity.", _by("activity", data["sessions"]))
    yield from _family("relaybay_sessions_live", "gauge", "Rows with a live link.", {"": data["sessions_live"]})
    yield from _family("relaybay_deliveries", "gauge", "Deliveries by state.", _by("state", data["deliveries"]))
    yield from _family("relaybay_comments", "gauge", "Owner's comments by state.", _by("state", data["comments"]))
    yield from _family("relaybay_tasks", "gauge", "Tasks by status.", _by("status", data["tasks"]))
    yield from _family("relaybay_inbox_entries", "gauge", "What waits for the owner.", {"": data["inbox"]})
    yield from _family("relaybay_events_total", "counter", "Events of the feed, ever.", {"": data["events"]})


def _process() -> Iterator[str]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    info = {f'{{version="{__version__}"}}': 1.0}
    yield from _family("relaybay_build_info", "gauge", "The running version.", info)
    yield from _family("process_start_time_seconds", "gauge", "Start, since the epoch.", {"": round(_STARTED, 3)})
    seconds = {"": round(used.ru_utime + used.ru_stime, 3)}
    yield from _family("process_cpu_seconds_total", "counter", "Processor time used.", seconds)
    rss = {"": used.ru_maxrss * _RSS_UNIT}
    yield from _family("relaybay_memory_peak_bytes", "gauge", "Most memory held at once.", rss)


def _surface(surface: McpSurface | None, commits: Commits | None) -> Iterator[str]:
    if surface is not None:
        calls: dict[str, float] = {
            f'{{tool="{tool}",outcome="{outcome}"}}': count for (tool, outcome), count in surface.calls.items()
        }
        yield from _family("relaybay_tool_calls_total", "counter", "Tool calls since the start.", calls)
    if commits is not None:
        yield from _family("relaybay_listeners", "gauge", "Open streams and long polls.", {"": commits.count})
