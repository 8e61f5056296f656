"""The form that chooses how the board looks (`ui/look.py`, `parts/preferences.html`)."""

from __future__ import annotations

from typing import Final

from sanic import HTTPResponse, Request

from relaybay.ui.desk import Desk, go
from relaybay.ui.forms import Form
from relaybay.ui.look import CHOICES, COOKIE, Look, look_of
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable

_LIFE_SECONDS: Final = 365 * 24 * 3600


def register(routes: RouteTable, desk: Desk) -> None:
    """Adds `POST /preferences`. What is left out, or is no choice, stays as it is."""

    async def preferences(request: Request) -> HTTPResponse:
        form = Form(request, "preferences")
        if form.fault is not None:
            return await desk.refused(request, form.fault)
        before = look_of(request)
        chosen = {
            name: form.get(name) if form.get(name) in values else getattr(before, name)
            for name, values in CHOICES.items()
        }
        answer = go(form.back(url("board")))
        kept = f"{COOKIE}={Look(**chosen).cookie}; Path=/; Max-Age={_LIFE_SECONDS}; HttpOnly; SameSite=Strict"
        answer.headers["Set-Cookie"] = kept
        return answer

    routes.op("POST", "/preferences", "form_preferences", preferences, door="board")
