"""The JSON API of projects, tasks and the owner's comments."""

from __future__ import annotations

from typing import Final

from sanic import HTTPResponse, Request

from relaybay.api import rest_models as io
from relaybay.api import results
from relaybay.api.calls import respond, run
from relaybay.api.rest_exports import register_exports
from relaybay.api.routes import Routes
from relaybay.domain import Caller
from relaybay.service import binding, comment_lists, comments, projects, tasks
from relaybay.service.relay import Relay
from relaybay.service.tasks import Change

_OWNER: Final = Caller(owner=True)
_TASKS: Final = "/api/v1/tasks"
_TASK: Final = f"{_TASKS}/<key:str>"


def register_tasks(routes: Routes, relay: Relay) -> None:
    """Adds their routes."""
    _Tasks(routes, relay).register()
    _Comments(routes, relay).register()
    register_exports(routes, relay)


class _Tasks:
    def __init__(self, routes: Routes, relay: Relay) -> None:
        self._routes, self._relay = routes, relay

    def register(self) -> None:
        op = self._routes.op
        show = {"Show": {"operationId": "get_task", "parameters": {"key": "$response.body#/key"}}}
        change = {"Change": {"operationId": "change_task", "parameters": {"key": "$response.body#/key"}}}
        one, made = {200: results.TaskAnswer}, {201: results.TaskAnswer}
        listed = {200: io.Projects}
        op("GET", "/api/v1/projects", "list_projects", self._projects, door="api", responses=listed)
        added = {200: io.ProjectAnswer}
        op("POST", "/api/v1/projects", "add_project", self._add, door="api", body=io.NewProject, responses=added)
        found = {200: results.Tasks}
        op("GET", _TASKS, "list_tasks", self._list, door="api", query=io.TasksQuery, responses=found)
        links = {**show, **change}
        op("POST", _TASKS, "create_task", self._create, door="api", body=io.NewTask, responses=made, links=links)
        op("GET", _TASK, "get_task", self._show, door="api", responses={200: results.TaskShown})
        op("POST", _TASK, "change_task", self._change, door="api", body=io.TaskChange, responses=one)
        op("POST", f"{_TASK}/bind", "bind_task", self._bind, door="api", body=io.WhomToBind, responses=one)
        op("POST", f"{_TASK}/unbind", "unbind_task", self._unbind, door="api", responses=one)

    async def _projects(self, _: Request) -> HTTPResponse:
        return respond(await run(self._relay, lambda tx, _: projects.projects_list(tx), read=True))

    async def _add(self, _: Request, body: io.NewProject) -> HTTPResponse:
        return respond(await run(self._relay, projects.project_add, _OWNER, **body.model_dump()))

    async def _list(self, _: Request, query: io.TasksQuery) -> HTTPResponse:
        given = {**query.model_dump(), "status": query.status or ""}
        return respond(await run(self._relay, lambda tx, _: tasks.tasks_list(tx, **given), read=True))

    async def _create(self, _: Request, body: io.NewTask) -> HTTPResponse:
        return respond(await run(self._relay, tasks.task_create, _OWNER, **body.model_dump()), 201)

    async def _show(self, _: Request, key: str) -> HTTPResponse:
        return respond(await run(self._relay, tasks.task_get, _OWNER, task=key, read=True))

    async def _change(self, _: Request, key: str, body: io.TaskChange) -> HTTPResponse:
        change = Change(**body.model_dump())
        return respond(await run(self._relay, tasks.task_update, _OWNER, task=key, change=change))

    async def _bind(self, _: Request, key: str, body: io.WhomToBind) -> HTTPResponse:
        return respond(await run(self._relay, binding.task_bind_session, _OWNER, task=key, session=body.session))

    async def _unbind(self, _: Request, key: str) -> HTTPResponse:
        return respond(await run(self._relay, binding.task_unbind, _OWNER, task=key))


class _Comments:
    def __init__(self, routes: Routes, relay: Relay) -> None:
        self._routes, self._relay = routes, relay

    def register(self) -> None:
        op, made = self._routes.op, {201: results.CommentAnswer}
        withdraw = {"Withdraw": {"operationId": "withdraw_comment", "parameters": {"comment_id": "$response.body#/id"}}}
        op(
            "POST",
            f"{_TASK}/comments",
            "add_comment",
            self._add,
            door="api",
            body=io.NewComment,
            responses=made,
            links=withdraw,
        )
        read = {200: io.RepliesRead}
        op("POST", f"{_TASK}/replies/read", "read_replies", self._replies_read, door="api", responses=read)
        listed = {200: results.Comments}
        op("GET", "/api/v1/comments", "list_comments", self._list, door="api", query=io.CommentsQuery, responses=listed)
        taken = {200: results.Answered}
        path = "/api/v1/comments/<comment_id:str>/withdraw"
        op("POST", path, "withdraw_comment", self._withdraw, door="api", responses=taken)

    async def _add(self, request: Request, key: str, body: io.NewComment) -> HTTPResponse:
        # Written in a browser it can be taken back for some seconds; on a command line it stands at once.
        from_board = not request.ctx.caller.same_user
        given = {"task": key, **body.model_dump(), "from_board": from_board}
        return respond(await run(self._relay, comments.owner_comment, **given), 201)

    async def _list(self, _: Request, query: io.CommentsQuery) -> HTTPResponse:
        return respond(await run(self._relay, comment_lists.comments_list, _OWNER, read=True, **query.model_dump()))

    async def _replies_read(self, _: Request, key: str) -> HTTPResponse:
        return respond(await run(self._relay, lambda tx, _: comments.replies_read(tx, task=key)))

    async def _withdraw(self, _: Request, comment_id: str) -> HTTPResponse:
        return respond(await run(self._relay, lambda tx, _: comments.withdraw(tx, comment_id=comment_id)))
