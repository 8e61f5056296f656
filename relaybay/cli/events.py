"""`relaybay events`: the event feed, from now on, from a cursor, or from its beginning; once or followed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from relaybay.cli import output
from relaybay.cli.options import filter_option, json_option
from relaybay.cli.shell import Shell

WAIT_SECONDS = 25
_ANSWER_SECONDS = WAIT_SECONDS + 15.0
_PAGE = 200
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _when(_ctx: click.Context, _param: click.Parameter, text: str | None) -> datetime | None:
    """A moment, in UTC, from RFC 3339, a date, or how long ago (30s, 10m, 3h, 2d)."""
    if text is None:
        return None
    try:
        if text[-1:] in _UNITS and text[:-1].isdecimal():
            return datetime.now(UTC) - timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
        # Without an offset it is the person's own clock that is meant.
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text} is no time; give 2026-01-31T09:00, or how long ago: 30s, 10m, 3h, 2d"
        ) from None


@click.command("events")
@click.option("--cursor", metavar="C", help="Only what came after it; without it, the present cursor and no events.")
@click.option("--all", "whole", is_flag=True, help="From the beginning.")
@click.option(
    "--since", metavar="WHEN", callback=_when, help="Only from then on: a time, or how long ago (10m, 3h, 2d)."
)
@click.option("--types", metavar="T,…", help="Only these types.")
@filter_option("session:S-2 -type:comment.*")
@click.option("--limit", type=click.IntRange(min=1), help="How many at most.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, until Ctrl-C. With --json: one line each.")
@json_option
@click.pass_obj
def events_command(
    shell: Shell,
    cursor: str | None,
    whole: bool,
    since: datetime | None,
    types: str | None,
    q: str | None,
    limit: int | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Read the event feed. A reader that keeps the cursor misses nothing.

    \b
      relaybay events --since 10m
      relaybay events --follow
      relaybay events --follow --json --types message.sent,message.delivered
    """  # noqa: D301 - Click reads the escape.
    if [cursor is not None, whole, since is not None].count(True) > 1:
        raise click.UsageError("--cursor, --all and --since each say where to begin; give one of them.")
    past = whole or since is not None
    if past:
        answer = _past(shell, since, {"types": types, "q": q}, limit)
    else:
        answer = shell.server.get("events", seconds=_ANSWER_SECONDS, cursor=cursor, types=types, q=q, limit=limit)
    if not follow:
        _print_once(answer, as_json=as_json, begun=past or cursor is not None)
        return
    while True:
        for event in answer.get("events", []):
            if as_json:
                print(json.dumps({"v": 1, **event, "cursor": answer.get("cursor")}), flush=True)
            else:
                print(_line(event), flush=True)
        query = {"cursor": answer.get("cursor"), "types": types, "q": q, "limit": limit}
        answer = shell.server.get("events", seconds=_ANSWER_SECONDS, wait_s=WAIT_SECONDS, **query)


def _print_once(answer: dict[str, Any], *, as_json: bool, begun: bool) -> None:
    if as_json:
        output.document(answer)
        return
    output.lines(_line(event) for event in answer.get("events", []))
    if not begun:
        output.note(f"{output.shown(answer.get('text', ''))} --since 10m and --all show what has happened.".lstrip())
    output.note(f"cursor {output.shown(answer.get('cursor', ''))}")


def _past(shell: Shell, since: datetime | None, only: dict[str, Any], limit: int | None) -> dict[str, Any]:
    """What has happened, as one answer with the cursor behind it."""
    found: list[dict[str, Any]] = []
    cursor = ""
    for answer in _pages(shell, only):
        found += [event for event in answer["events"] if since is None or _at(event) >= since]
        cursor = answer["cursor"]
        if limit is not None and len(found) >= limit:
            # The page's own cursor may be behind events that the limit leaves out.
            found, cursor = found[:limit], _cursor_after(int(found[limit - 1]["id"]))
            break
    return {"events": found, "cursor": cursor}


def _pages(shell: Shell, only: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The feed's pages, from its beginning to what is newest now."""
    cursor = _cursor_after(0)
    while True:
        answer = shell.server.get("events", seconds=_ANSWER_SECONDS, cursor=cursor, limit=_PAGE, **only)
        yield answer
        if not answer["events"] or answer["cursor"] == cursor:
            return
        cursor = answer["cursor"]


def _cursor_after(event: int) -> str:
    from relaybay.service.feed import cursor_of  # Only here: what it stands on takes longer to load than a call.

    return cursor_of(event)


def _at(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(str(event["at"]))


def _line(event: dict[str, Any]) -> str:
    data = output.shown(json.dumps(event.get("data", {}), ensure_ascii=False))
    return f"{output.shown(event.get('at', ''))}  {output.shown(event.get('type', ''))}  {data}"
