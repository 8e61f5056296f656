"""Read model of `/map` (page 70): who writes to whom, as picture, table and matrix; all three are one list of edges.

A message of ours has marks; what a client wrote with a tool of its own (page 30) has none, so it is an edge of another
kind. Places and curves are `rules/map_layout.py`; what stands here twice, once as count and once as picture, is made
from the same edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.rules.map_layout import Layout, curve, layout, width
from relaybay.rules.text import name_line
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.service.tasks import unknown
from relaybay.service.views import ALL_MAX, open_mail, session_short
from relaybay.store import board as counted
from relaybay.store import events, sessions, tasks
from relaybay.store.sessions import SessionRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx

_HOUR_US = 3_600 * 1_000_000
#: Window → how far back it reaches, in µs; 0 for everything.
WINDOWS = {"1h": _HOUR_US, "24h": 24 * _HOUR_US, "7d": 7 * 24 * _HOUR_US, "all": 0}
FORMS = ("graph", "matrix")
#: Sessions that the picture has room for; those seen last.
NODES_MAX = 60
#: Edges that picture and table show, what waits longest first; the table shows more when all are asked for.
CURVES_MAX = 120
EDGES = 30
#: Sessions that the matrix has room for: the ends of the edges that stand first in the table.
MATRIX_MAX = 12
TASKS_MAX = 100
_BOW = {"message": 0.1, "client": 0.24}


@dataclass(frozen=True, slots=True)
class Party:
    """One end of an edge: a row by its key, or what is left of one, or a script's label, as one escaped line."""

    key: int | None
    title: str = ""
    script: bool = False


@dataclass(slots=True)
class Edge:
    """What one wrote to the other in the window, and what waits however old it is."""

    sender: Party
    recipient: Party
    kind: str = "message"
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("sent", "delivered", "read", "lost"), 0))
    waiting: int = 0
    oldest_us: int = 0
    held: int = 0
    published: int = 0

    @property
    def order(self) -> tuple[int, int, int, str, int, str, str]:
        """What waits longest first, then the busiest, then by the order of the rows."""
        oldest = self.oldest_us or 2**63
        ends = (self.sender.key or 0, self.sender.title, self.recipient.key or 0, self.recipient.title)
        return (oldest, -self.counts["sent"], *ends, self.kind)


def map_page(
    tx: Tx, relay: Relay, *, window: str = "24h", task: str = "", form: str = "graph", all_of: str = ""
) -> Outcome:
    """The Map: sessions and edges, of one task or of everything, drawn as a graph or set out as a matrix (`form`). The
    table has the first edges; more of them when `all_of` says `edges`.
    """
    for name, given, known in (("window", window, tuple(WINDOWS)), ("view", form, FORMS)):
        if given not in known:
            why = word("argument.enum", allowed=", ".join(known)).text
            return Outcome(refusal=Refusal("http.argument_invalid", "75", {"name": name, "why": why}))
    about = tasks.get(tx, task) if task else None
    if task and about is None:
        return unknown(task, owner=True)
    rows = {row.id: row for row in sessions.every(tx)}
    edges = sorted(_edges(tx, window, about, rows), key=lambda edge: edge.order)
    people = _People(tx, relay, rows)
    shown, left_out = people.choose(edges, about)
    nodes = [people.node(row) for row in shown]
    whole = all_of == "edges"
    listed = edges[: ALL_MAX if whole else EDGES]
    data = {
        "window": window,
        "view": form,
        "task": about.task_key if about else "",
        "windows": list(WINDOWS),
        "tasks": counted.tasks_written_about(tx, TASKS_MAX),
        "sessions": len(rows),
        "nodes": nodes,
        "left_out": left_out,
        "edges": [people.edge(edge) for edge in listed],
        "edges_left_out": len(edges) - len(listed),
        "all_of": "edges" if whole else "",
        "sent": sum(edge.counts["sent"] for edge in edges if edge.kind == "message"),
        "by_client": sum(edge.counts["sent"] for edge in edges if edge.kind == "client"),
        "waiting": sum(edge.waiting for edge in edges),
    }
    data |= (
        {"drawing": people.drawing(shown, edges[:CURVES_MAX])} if form == "graph" else {"matrix": people.matrix(edges)}
    )
    return Outcome(data=data)


def _edges(tx: Tx, window: str, about: TaskRow | None, rows: Mapping[int, SessionRow]) -> list[Edge]:
    since_us = tx.now - WINDOWS[window] if WINDOWS[window] else 0
    found: dict[tuple[Party, Party, str], Edge] = {}
    for one in counted.exchanges(tx, since_us, about.id if about else None):
        ends = (
            Party(one.sender_id, name_line(one.sender_title), one.script),
            Party(one.recipient_id, name_line(one.recipient_title)),
        )
        edge = found.setdefault((*ends, "message"), Edge(*ends))
        if one.inside:
            edge.counts["sent"] += one.count
            edge.counts["delivered"] += one.count if one.state in ("delivered", "read") else 0
            edge.counts["read"] += one.count if one.state == "read" else 0
            edge.counts["lost"] += one.count if one.state == "orphaned" else 0
            edge.held += one.count if one.state == "held" else 0
            edge.published += one.count if one.published else 0
        if one.state == "sent":
            edge.waiting += one.count
            edge.oldest_us = min(edge.oldest_us or one.oldest_us, one.oldest_us)
    # What a client carried itself says of no task what it is about.
    for data in events.client_edges(tx, since_us) if about is None else ():
        ends = _named(data, "from", rows), _named(data, "to", rows)
        edge = found.setdefault((*ends, "client"), Edge(*ends, "client"))
        edge.counts["sent"] += 1
    return list(found.values())


def _named(data: dict[str, Any], end: str, rows: Mapping[int, SessionRow]) -> Party:
    """An end of a client's edge: its row while it is there, else the name, which the event has as it is shown."""
    ref = data.get(f"{end}_ref")
    key = int(ref.removeprefix("S-")) if ref else 0
    return Party(key) if key in rows else Party(None, data[end])


class _People:
    """The sessions of the Map, with what is asked of all of them once."""

    def __init__(self, tx: Tx, relay: Relay, rows: dict[int, SessionRow]) -> None:
        self._relay = relay
        self._rows = rows
        self._mail = counted.mail_by_session(tx)
        self._projects = {project.id: project.slug for project in tasks.projects(tx)}
        self._of_task = counted.projects_of_bound(tx)

    def choose(self, edges: Iterable[Edge], about: TaskRow | None) -> tuple[list[SessionRow], int]:
        """Who stands in the picture, in the order of the rows, and how many have no room in it.

        Whoever has an edge; without a task's filter everybody who is not over as well.
        """
        wrote = {end.key for edge in edges for end in (edge.sender, edge.recipient)}
        bound = {about.session_id} if about is not None else set()
        found = [
            row
            for row in self._rows.values()
            if row.id in wrote
            or row.id in bound
            or (about is None and self._relay.presence.current(row).activity != "ended")
        ]
        found.sort(key=lambda row: (self._relay.presence.current(row).activity == "ended", -row.last_seen_us, -row.id))
        return sorted(found[:NODES_MAX], key=lambda row: row.id), max(len(found) - NODES_MAX, 0)

    def _group(self, row: SessionRow) -> int:
        return row.project_id or self._of_task.get(row.id, 0)

    def node(self, row: SessionRow) -> dict[str, Any]:
        """A session as the Map names it."""
        mail = open_mail(self._mail.get(row.id))
        return {**session_short(self._relay, row), "project": self._projects.get(self._group(row)), "messages": mail}

    def _party(self, party: Party) -> dict[str, Any]:
        if party.key is None:
            return {"title": party.title, **({"script": True} if party.script else {})}
        return session_short(self._relay, self._rows[party.key])

    def edge(self, edge: Edge) -> dict[str, Any]:
        """An edge as the table shows it."""
        shown = {"from": self._party(edge.sender), "to": self._party(edge.recipient), "kind": edge.kind, **edge.counts}
        if edge.kind == "client":
            return {name: shown[name] for name in ("from", "to", "kind", "sent")}
        oldest = {"oldest_wait": rfc3339(edge.oldest_us)} if edge.oldest_us else {}
        more = {name: count for name, count in (("held", edge.held), ("published", edge.published)) if count}
        return {**shown, "waiting": edge.waiting, **oldest, **more}

    def drawing(self, shown: list[SessionRow], edges: Iterable[Edge]) -> dict[str, Any]:
        """Places, arcs and curves. No time is in it: what did not change is drawn with the same bytes."""
        plan = layout((row.id, self._group(row)) for row in shown)
        return {
            "width": plan.width,
            "height": plan.height,
            "flat": plan.flat,
            "nodes": [self._place(plan, row) for row in shown],
            "groups": [
                {"name": self._projects.get(group), "path": arc.path, "x": arc.label_x, "y": arc.label_y,
                 "anchor": arc.anchor}
                for group, arc in plan.arcs.items()
            ],
            "curves": _curves(plan, edges),
        }  # fmt: skip

    def _place(self, plan: Layout, row: SessionRow) -> dict[str, Any]:
        seat = plan.seats[row.id]
        label = {"x": seat.label_x, "y": seat.label_y, "anchor": seat.anchor, "turn": seat.turn}
        return {"ref": row.ref, "x": seat.x, "y": seat.y, "label": label}

    def matrix(self, edges: list[Edge]) -> dict[str, Any]:
        """Who → whom: those who wrote or were written to, in one order for rows and columns."""
        parties = list(dict.fromkeys(end for edge in edges for end in (edge.sender, edge.recipient)))
        order = sorted(parties[:MATRIX_MAX], key=lambda end: (end.key is None, end.key or 0, end.title))
        cells: dict[tuple[Party, Party], dict[str, int]] = {}
        for edge in edges:
            cell = cells.setdefault((edge.sender, edge.recipient), {"sent": 0, "waiting": 0, "by_client": 0})
            cell["by_client" if edge.kind == "client" else "sent"] += edge.counts["sent"]
            cell["waiting"] += edge.waiting
        heads = [self._party(end) for end in order]
        rows = [
            {"from": self._party(sender), "cells": [cells.get((sender, recipient)) for recipient in order]}
            for sender in order
        ]
        return {"heads": heads, "rows": rows, "left_out": max(len(parties) - MATRIX_MAX, 0)}


def _curves(plan: Layout, edges: Iterable[Edge]) -> list[dict[str, Any]]:
    found = []
    for edge in sorted(edges, key=lambda one: (one.sender.key or 0, one.recipient.key or 0, one.kind)):
        ends = plan.seats.get(edge.sender.key or 0), plan.seats.get(edge.recipient.key or 0)
        if ends[0] is None or ends[1] is None or ends[0] is ends[1]:
            continue
        path = curve(ends[0], ends[1], (plan.width, plan.height), _BOW[edge.kind])
        found.append(
            {"from": f"S-{edge.sender.key}", "to": f"S-{edge.recipient.key}", "kind": edge.kind, "path": path,
             "width": width(max(edge.counts["sent"], edge.waiting)), "sent": edge.counts["sent"],
             "waiting": edge.waiting}
        )  # fmt: skip
    return found
