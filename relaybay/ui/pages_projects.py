"""`/projects/SLUG` with its `.json` and `.md` twins, and `/tasks/KEY.md`: exports stand beside the page (page 40)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sanic import HTTPResponse, Request

from relaybay.answers import word_refusal
from relaybay.domain import Outcome
from relaybay.service import export, views_projects
from relaybay.service.arguments import STATUSES
from relaybay.service.views_owner import for_owner
from relaybay.ui.desk import Desk, Page, wants_json
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable

_PROJECT: Final = Page("project.html", "projects", ("project_head", "project_tasks", "project_timeline"))
MARKDOWN_END: Final = ".md"
MARKDOWN: Final = "text/markdown; charset=utf-8"


def register(routes: RouteTable, desk: Desk) -> None:
    """Adds the route of a project. A slug has no dot, so the end of the last part tells a twin, as with tasks' keys."""

    async def project(request: Request, slug: str) -> HTTPResponse:
        if slug.endswith(MARKDOWN_END):
            return await _markdown(request, desk, export.project_export, project=slug.removesuffix(MARKDOWN_END))
        slug = slug.removesuffix(".json") if wants_json(request) else slug
        all_of = ",".join(STATUSES) if wants_json(request) else request.args.get("all_of", "")
        view, address = views_projects.project_page, url("project", slug=slug, all_of=all_of)
        return await desk.show(request, _PROJECT, view, address, slug, project=slug, all_of=all_of)

    routes.op("GET", "/projects/<slug:str>", "page_project", project, door="board")


async def task_markdown(request: Request, desk: Desk, key: str) -> HTTPResponse:
    """`/tasks/KEY.md`, for the route of a task's page."""
    return await _markdown(request, desk, export.task_export, task=key.removesuffix(MARKDOWN_END))


async def _markdown(request: Request, desk: Desk, use_case: Callable[..., Outcome], **named: Any) -> HTTPResponse:
    outcome, around = await desk.read(use_case, **named)
    if outcome.refusal is not None:
        return desk.refuse(request, word_refusal(for_owner(outcome.refusal)), around)
    # Shown where the browser can, under a name of its own where it is kept; a name has no character to escape.
    headers = {"Content-Disposition": f'inline; filename="{outcome.data["name"]}"'}
    return HTTPResponse(outcome.data["markdown"], content_type=MARKDOWN, headers=headers)
