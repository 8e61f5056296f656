"""A real server with the board over a real store, a browser without scripts, and sessions that live as hooks make them."""

from __future__ import annotations

import http.client
import json
import secrets
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from relaybay.api.gate import Gate
from relaybay.api.keys import Keys
from relaybay.api.routes import Routes
from relaybay.api.serving import ServerThread, make_app
from relaybay.domain import Caller
from relaybay.rules import names
from relaybay.service import (
    attachments,
    binding,
    comments,
    handover,
    messages,
    naming,
    publishing,
    scripts,
    session_controls,
    tasks,
)
from relaybay.service.relay import open_relay
from relaybay.settings import Messaging
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from relaybay.ui.pages import refused, register_board

START = 1_800_000_000_000_000
SECOND = 1_000_000
OWNER = Caller(owner=True)
OFF = Messaging()
#: Channels, with everything let through that no policy of a session keeps back.
OPEN = Messaging(channels=True, inbound="accept")
HOOK = "5e55104a-hook-of-"
_VOID = {"meta", "link", "input", "br", "img", "hr", "use", "circle", "path"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: Element | None
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text below, with white space as a page shows it."""
        return " ".join("".join(self.texts).split())

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]


class Document(HTMLParser):
    """Elements in order, each properly closed; text goes to every element around it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.raw = text
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {[e.tag for e in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute stands twice: {tag} {attrs}"
        element = Element(tag, {name: value or "" for name, value in attrs}, self._open[-1] if self._open else None)
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self._open and self._open[-1].tag == tag and tag not in _VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open[-1].tag == tag, f"</{tag}> closes {self._open[-1].tag if self._open else None}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.texts.append(data)

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            e
            for e in self.elements
            if (not tag or e.tag == tag) and all(e.attributes.get(n) == v for n, v in wanted.items())
        ]

    def one(self, tag: str = "", **attributes: str) -> Element:
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} of {tag} {attributes}"
        return found[0]

    def by_id(self, value: str) -> Element:
        return self.one(id=value)

    @property
    def text(self) -> str:
        return self.elements[0].text if self.elements else ""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: str

    @property
    def document(self) -> Document:
        return Document(self.body)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Raw:
    content: bytes
    headers: dict[str, str]


class Board:
    """The rig. Time stands still unless a test moves it."""

    def __init__(self, folder: Path, messaging: Messaging = OFF) -> None:
        self.now = START
        self._hooks = 0
        self.relay = open_relay(folder / "relaybay.db", lambda: self.now, messaging=messaging)
        app = make_app()
        routes = Routes(app)
        keys = Keys(*(secrets.token_urlsafe(32) for _ in range(3)))
        self.gate = Gate(keys, now_us=lambda: self.now, page=refused)
        register_board(routes, self.relay, self.gate)
        self.gate.install(app)
        self.routes = routes
        self.server = ServerThread(app).start()
        self.cookie = ""

    def close(self) -> None:
        self.server.stop()
        self.relay.close()

    # --- the browser ---

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        sent = {"Accept": "text/html", **{n.replace("_", "-"): v for n, v in headers.items()}}
        if self.cookie:
            sent["Cookie"] = f"relaybay_session={self.cookie}"
        connection.request(method, path, body=body, headers=sent)
        response = connection.getresponse()
        text = response.read().decode("utf-8")
        connection.close()
        return Answer(response.status, {n.lower(): v for n, v in response.getheaders()}, text)

    def raw(self, path: str) -> Raw:
        """An answer as bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        connection.request("GET", path, headers={"Cookie": f"relaybay_session={self.cookie}"})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return Raw(content, {n.lower(): v for n, v in response.getheaders()})

    def log_in(self) -> Board:
        answer = self.request("GET", f"/login?code={self.gate.logins.mint_code()}")
        assert answer.status == 303, answer
        self.cookie = answer.headers["set-cookie"].split(";")[0].partition("=")[2]
        return self

    def get(self, path: str) -> Answer:
        return self.request("GET", path)

    def page(self, path: str, status: int = 200) -> Document:
        answer = self.get(path)
        assert answer.status == status, (path, answer.status, answer.body[:400])
        return answer.document

    def post(self, path: str, csrf: str | None = None, **fields: str) -> Answer:
        fields = {"csrf": self.gate.logins.csrf_token(self.cookie) if csrf is None else csrf, **fields}
        return self.request(
            "POST",
            path,
            urlencode(fields).encode(),
            Content_Type="application/x-www-form-urlencoded",
            Origin=self.server.url,
        )

    def submit(self, document: Document, action: str, **fields: str) -> Answer:
        """Sends the one form of the page that goes to `action`, as a browser would, with these fields filled in."""
        buttons = document.all("button", formaction=action)
        form = document.by_id(buttons[0]["form"]) if buttons else document.one("form", action=action, method="post")
        return self._sent(document, form, action, fields)

    def submit_form(self, document: Document, form: Element) -> Answer:
        """The same for a form that is not the only one of its address."""
        return self._sent(document, form, form["action"], {})

    def _sent(self, document: Document, form: Element, action: str, fields: dict[str, str]) -> Answer:
        hidden = {
            e["name"]: e.attributes.get("value", "")
            for e in document.all("input", type="hidden")
            if self._inside(e, form)
        }
        assert "csrf" in hidden, "a form without a token"
        return self.request(
            "POST",
            action,
            urlencode({**hidden, **fields}).encode(),
            Content_Type="application/x-www-form-urlencoded",
            Origin=self.server.url,
        )

    @staticmethod
    def _inside(element: Element, around: Element) -> bool:
        at: Element | None = element
        while at is not None:
            if at is around:
                return True
            at = at.parent
        return False

    # --- what happens elsewhere ---

    def write(self, use_case: Any) -> Any:
        outcome = self.relay.store.write(use_case)
        assert outcome.ok, outcome.refusal
        return outcome.data

    def session(
        self, title: str, link: str = "exact", activity: str = "idle", kind: str = "hook", **columns: Any
    ) -> SessionRow:
        if link not in ("none", "moved"):
            self._hooks += 1
            columns["hook_id"] = f"{HOOK}{self._hooks}"

        def write(tx: Any) -> SessionRow:
            row = sessions.add(
                tx, title=title, title_key=names.key(title), kind=kind, link_state=link, activity=activity,
                title_given=1, last_seen_us=tx.now, last_event_us=tx.now, **columns,
            )  # fmt: skip
            return naming.claim_name(tx, row) if link == "exact" else row

        return self.relay.store.write(write)

    def task(self, title: str = "A task", body: str = "", status: str = "todo", bound: SessionRow | None = None) -> str:
        given = {"project": "shop", "title": title, "body": body, "status": status}
        key = self.write(lambda tx: tasks.task_create(tx, self.relay, OWNER, **given))["key"]
        if bound is not None:
            self.write(lambda tx: binding.task_bind_session(tx, self.relay, OWNER, task=key, session=bound.ref))
        return key

    def send(self, sender: SessionRow, to: str, body: str, **more: str) -> str:
        caller = Caller(hook_session=sender.hook_id) if sender.hook_id else Caller(session=sender.title)
        self.now += SECOND
        given = {"to": to, "body": body, **more}
        return self.write(lambda tx: messages.send(tx, self.relay, caller, **given))["message_id"]

    # --- channels ---

    def policy(self, row: SessionRow, wanted: str) -> None:
        given: dict[str, Any] = {"session": row.ref, "wanted": wanted, "confirmed": True}
        self.write(lambda tx: session_controls.set_policy(tx, self.relay, **given))

    def subscribe(self, row: SessionRow, *patterns: str) -> None:
        self.write(lambda tx: session_controls.subscribe(tx, self.relay, session=row.ref, add=patterns))

    def broadcasts(self, row: SessionRow, *, on: bool = True) -> None:
        self.write(lambda tx: session_controls.set_broadcasts(tx, self.relay, session=row.ref, on=on))

    def publish(self, sender: SessionRow, topic: str | None, body: str = "It failed.") -> str:
        """To a topic, or without one to all that take broadcasts."""
        self.now += SECOND
        given: dict[str, Any] = {"topic": topic, "broadcast": topic is None, "body": body}
        caller = Caller(hook_session=sender.hook_id)
        return self.write(lambda tx: publishing.publish(tx, self.relay, caller, **given))["message_id"]

    def script(self, to: SessionRow | str, body: str = "Build failed.", label: str = "ci") -> str:
        self.now += SECOND
        ref = to if isinstance(to, str) else to.ref
        return self.write(lambda tx: scripts.send(tx, self.relay, label=label, to=ref, body=body))["message_id"]

    def script_publish(self, topic: str | None, body: str = "Build failed.", label: str = "ci") -> str:
        self.now += SECOND
        given: dict[str, Any] = {"label": label, "topic": topic, "broadcast": topic is None, "body": body}
        return self.write(lambda tx: publishing.publish_as_script(tx, self.relay, **given))["message_id"]

    def hand_over(self, row: SessionRow, at: Any = "tool") -> None:
        def write(tx: Any) -> Any:
            now = sessions.need(tx, row.id)
            return handover.hand_over(tx, now, at, handover.offers(tx, self.relay, now, at))

        assert self.relay.store.write(write) is not None, "nothing was handed over"

    def acknowledge(self, row: SessionRow, message_id: str) -> None:
        caller = Caller(hook_session=row.hook_id) if row.hook_id else Caller(session=row.title)
        self.write(lambda tx: messages.acknowledge(tx, self.relay, caller, message_id=message_id))

    def owner_comment(self, key: str, body: str, *, board: bool = False) -> str:
        return self.write(lambda tx: comments.owner_comment(tx, self.relay, task=key, body=body, from_board=board))[
            "id"
        ]

    def attach(self, key: str, name: str, content: bytes, media_type: str = "text/plain") -> dict[str, Any]:
        given = {"task": key, "name": name, "media_type": media_type, "content": content}
        return self.write(lambda tx: attachments.attach(tx, **given))

    def upload(self, path: str, name: str, content: bytes, media_type: str = "text/plain") -> Answer:
        """As a browser sends a form with one file."""
        token = self.gate.logins.csrf_token(self.cookie)
        quoted = name.replace('"', "%22")
        head = f'Content-Disposition: form-data; name="file"; filename="{quoted}"\r\nContent-Type: {media_type}'
        body = b"\r\n".join(
            [
                b"--edge",
                b'Content-Disposition: form-data; name="csrf"',
                b"",
                token.encode(),
                b"--edge",
                head.encode(),
                b"",
                content,
                b"--edge--",
                b"",
            ]
        )
        return self.request(
            "POST", path, body, Content_Type="multipart/form-data; boundary=edge", Origin=self.server.url
        )

    def reply(self, row: SessionRow, key: str, body: str, in_reply_to: str = "") -> str:
        caller = Caller(hook_session=row.hook_id) if row.hook_id else Caller(session=row.title)
        return self.write(
            lambda tx: comments.comment_add(tx, self.relay, caller, task=key, body=body, in_reply_to=in_reply_to)
        )["id"]

    def dump(self) -> list[tuple[Any, ...]]:
        """Everything that is stored."""
        tables = (
            "project",
            "session",
            "alias",
            "task",
            "step",
            "attachment",
            "attachment_content",
            "message",
            "delivery",
            "comment",
            "comment_given",
            "inbox",
            "event",
        )
        return [
            (t, *r)
            for t in tables
            for r in self.relay.store.read(lambda tx, t=t: tx.rows(f"SELECT * FROM {t} ORDER BY 1"))
        ]
