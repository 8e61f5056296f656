"""Exports over the JSON API: `relaybay export` asks for them. The Markdown stands in a member, as every text does."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from sanic import HTTPResponse, Request

from relaybay.api.calls import respond, run
from relaybay.api.routes import Routes
from relaybay.service import export
from relaybay.service.relay import Relay


class Export(BaseModel):
    """A task or a project as one Markdown document."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(description="What a file of it may be called.")]
    markdown: Annotated[str, Field(description="The document.")]


def register_exports(routes: Routes, relay: Relay) -> None:
    """Adds the routes."""

    async def task(_: Request, key: str) -> HTTPResponse:
        return respond(await run(relay, export.task_export, task=key, read=True))

    async def project(_: Request, slug: str) -> HTTPResponse:
        return respond(await run(relay, export.project_export, project=slug, read=True))

    answers = {200: Export}
    routes.op("GET", "/api/v1/tasks/<key:str>/export", "export_task_json", task, door="api", responses=answers)
    path = "/api/v1/projects/<slug:str>/export"
    routes.op("GET", path, "export_project_json", project, door="api", responses=answers)
