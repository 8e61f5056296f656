"""The board's pages (page 70; routes: page 75, Board routes): which view each shows, and `register_board`."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final

from sanic import HTTPResponse, Request

from relaybay.answers import Answer, word
from relaybay.service import views, views_inbox, views_messages, views_project_list, views_sessions, views_tasks
from relaybay.service.house import House
from relaybay.service.relay import Relay
from relaybay.ui import filtered, pages_channels, pages_look, pages_palette, pages_search
from relaybay.ui.actions import register_actions
from relaybay.ui.assets import Assets
from relaybay.ui.desk import HTML, Desk, Notice, Page, problem, typed, wants_json
from relaybay.ui.pages_overview import register_overview
from relaybay.ui.pages_projects import MARKDOWN_END, task_markdown
from relaybay.ui.pages_reviews import for_review
from relaybay.ui.paths import url
from relaybay.ui.ports import Gatekeeper, Handler, RouteTable
from relaybay.ui.problem_pages import register_problem_pages
from relaybay.ui.render import Renderer
from relaybay.ui.writing import TAKEN_BACK

_BOARD: Final = Page("board.html", "board", ("summary", "columns"))
_INBOX: Final = Page("inbox.html", "inbox", ("inbox_undo", "inbox_entry", "entries"))
_SESSIONS: Final = Page("sessions.html", "sessions", ("session_groups",))
_SESSION: Final = Page(
    "session.html",
    "sessions",
    ("session_facts", "session_messaging", "session_talks", "session_mail", "timeline", "session_peek"),
)
_MESSAGES: Final = Page("messages.html", "messages", ("message_list",))
_THREAD: Final = Page("thread.html", "messages", ("thread",))
_PROJECTS: Final = Page("projects.html", "projects", ("project_list",))
_TASK: Final = Page(
    "task.html", "board", ("task_head", "task_steps", "task_files", "comments", "task_messages", "timeline", "peek")
)
_JSON: Final = ".json"


def register_board(routes: RouteTable, relay: Relay, gate: Gatekeeper, house: House | None = None) -> None:
    """Adds the board: its pages with their `.json` twins, its forms, its static files, `GET /login`, and pages for what
    the server refuses.
    """
    assets = Assets()
    assets.register(routes)
    register_problem_pages(routes, assets)
    pages = Pages(Desk(relay, gate, assets))
    pages.register(routes)
    register_actions(routes, pages)
    register_overview(routes, pages.desk, house or House.bare())
    pages_channels.register(routes, pages.desk)
    pages_look.register(routes, pages.desk)
    pages_palette.register(routes, pages.desk)
    pages_search.register(routes, pages.desk)


def refused(request: Request, answer: Answer) -> HTTPResponse:
    """The page for a browser without a login: it names the command that makes one. For the gate."""
    if wants_json(request):
        return problem(answer)
    return HTTPResponse(_stranger().render("stranger.html", {"answer": answer}), answer.status, content_type=HTML)


@lru_cache(maxsize=1)
def _stranger() -> Renderer:
    return Renderer(Assets())


class Pages:
    """One method a page. A form that was refused shows its page again, with a notice."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def register(self, routes: RouteTable) -> None:
        """Adds the routes."""
        both: tuple[tuple[str, str, str, Handler], ...] = (
            ("/", "/board.json", "board", self.board),
            ("/inbox", "/inbox.json", "inbox", self.inbox),
            ("/sessions", "/sessions.json", "sessions", self.sessions),
            ("/messages", "/messages.json", "messages", self.messages),
            ("/projects", "/projects.json", "projects", self.projects),
        )
        for path, twin, name, handler in both:
            routes.op("GET", path, f"page_{name}", handler, door="board")
            routes.op("GET", twin, f"page_{name}_json", handler, door="board")
        # Their twins are told by the end of the last part: keys and refs have no dot.
        routes.op("GET", "/sessions/<ref:str>", "page_session", self.session, door="board")
        routes.op("GET", "/tasks/<key:str>", "page_task", self.task, door="board")
        routes.op("GET", "/login", "page_login", self.login, door="open", head=False)

    async def login(self, request: Request) -> HTTPResponse:
        """Swaps the one-time code for a cookie; for a browser whose code is used up, a page that says so."""
        response = self.desk.gate.log_in(request.args.get("code", ""))
        if response.status == HTTPStatus.SEE_OTHER or "text/html" not in request.headers.get("accept", ""):
            return typed(response)
        return self.desk.refuse(request, word("http.login_code_used"))

    async def board(self, request: Request, *, notice: Notice | None = None) -> HTTPResponse:
        """`/`."""
        project = request.args.get("project", "")
        move, all_of = request.args.get("move", ""), request.args.get("all_of", "")
        # A twin lists all there is, as far as a page does.
        all_of = ",".join((*views.COLUMNS, views.DROPPED)) if wants_json(request) else all_of
        kept, given = ("project", "move", "all_of"), {"project": project, "move": move, "all_of": all_of}
        return await filtered.show(
            self.desk, request, _BOARD, views.board, "board", "Board", "tasks", notice=notice, kept=kept, **given
        )

    async def inbox(self, request: Request, *, notice: Notice | None = None, at: str = "") -> HTTPResponse:
        """`/inbox`, with the entry `at` in focus. The page's own address names the entry that it shows: fetched again
        it shows that one or that it is gone, and a key never acts on another.
        """
        given = {"at": at or request.args.get("at", ""), "undo": request.args.get("undo", "")}

        def address(data: dict[str, Any]) -> str:
            return url("inbox", at=data["focus"]["id"] if data["focus"] else given["at"], undo=given["undo"])

        view = views_inbox.inbox_page
        return await self.desk.show(request, _INBOX, view, address, "Inbox", notice=notice, **given)

    async def sessions(self, request: Request) -> HTTPResponse:
        """`/sessions`."""
        view = views_sessions.session_list
        all_of = ",".join(views_sessions.GROUPS) if wants_json(request) else request.args.get("all_of", "")
        kept = ("all_of",)
        return await filtered.show(
            self.desk, request, _SESSIONS, view, "sessions", "Sessions", "sessions", kept=kept, all_of=all_of
        )

    async def session(self, request: Request, ref: str, *, notice: Notice | None = None) -> HTTPResponse:
        """`/sessions/S-12`."""
        ref = ref.removesuffix(_JSON) if wants_json(request) else ref
        view, address = views_sessions.session_page, url("session", ref=ref)
        return await self.desk.show(request, _SESSION, view, address, ref, notice=notice, ref=ref)

    async def messages(self, request: Request) -> HTTPResponse:
        """`/messages`, filtered; what old addresses say by session, box, state and task becomes part of the filter.
        With `message` the thread of that message; the tab `review` lists what is held for the owner.
        """
        if request.args.get("tab", "") == "review":
            return await for_review(self.desk, request)
        message = request.args.get("message", "")
        if message:
            address = url("messages", message=message)
            return await self.desk.show(request, _THREAD, views_messages.thread, address, "Thread", message_id=message)
        given = {name: request.args.get(name, "") for name in ("session", "state", "task", "before")}
        given["box"] = request.args.get("box", "all")
        view, kept = views_messages.message_list, ("before",)
        return await filtered.show(
            self.desk, request, _MESSAGES, view, "messages", "Messages", "messages", kept=kept, **given
        )

    async def projects(self, request: Request, *, notice: Notice | None = None) -> HTTPResponse:
        """`/projects`."""
        all_of = "projects" if wants_json(request) else request.args.get("all_of", "")
        view, address = views_project_list.project_list, url("projects", all_of=all_of)
        return await self.desk.show(request, _PROJECTS, view, address, "Projects", notice=notice, all_of=all_of)

    async def task(self, request: Request, key: str, *, notice: Notice | None = None) -> HTTPResponse:
        """`/tasks/KEY`."""
        if key.endswith(MARKDOWN_END):
            return await task_markdown(request, self.desk, key)
        key = key.removesuffix(_JSON) if wants_json(request) else key
        about = {name: request.args.get(name, "") for name in ("reply", "step", "file")}
        if notice is not None and notice.at in ("comment", TAKEN_BACK):
            kept = notice.kept
            about = {"reply": kept["in_reply_to"], "step": kept["step"], "file": kept["attachment"]}
        about["all_of"] = "comments" if wants_json(request) else request.args.get("all_of", "")
        view, address = views_tasks.task_page, url("task", key=key, **about)
        adding = request.args.get("add", "") == "step"
        return await self.desk.show(
            request, _TASK, view, address, key, notice=notice, more={"adding": adding}, task=key, **about
        )
