"""The one gate before every route: who may reach what, decided once, in one order (page 75, Doors and keys).

    reach         one Host of ours · Origin · Sec-Fetch-Site · no upgrade · no secret in the URL
    shape         content type · content encoding · declared size
    credentials   by the route's door: token, hook key, cookie, owner's key, or the Unix socket's peer
    body          read here, under the door's limit, after the credentials
    form          CSRF token for whatever a browser writes

Over a connection that stays open, a hook's head that was let in is let in again when it is repeated byte for byte
under the same keys (`fast_path.py`): it is the same question.

A route has its door from the registry (`routes.py`); one without a door is refused, and the server does not start
with one. Over the Unix socket the rules of `reach` give way to one: the peer is the user who runs the server.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal, cast
from urllib.parse import parse_qsl, unquote

from sanic import HTTPResponse, Request, Sanic
from sanic.http import Http

from relaybay.answers import Answer, word
from relaybay.api.bodies import FORM, JSON, MULTIPART, form_field, has_body, is_media
from relaybay.api.body_reading import LIMITS, BodyLimits, read_body, too_large
from relaybay.api.fast_path import Generation, remember
from relaybay.api.headers import add_security_headers, own_hosts, own_origins
from relaybay.api.keys import Keys
from relaybay.api.login import LOGIN_LIFE_US, Logins
from relaybay.api.login_file import LoginFile
from relaybay.api.multipart import read_parts
from relaybay.api.peer import is_same_user, over_unix
from relaybay.api.problems import problem
from relaybay.api.routes import Door, unguarded

COOKIE: Final = "relaybay_session"
OWNER_HEADER: Final = "x-relaybay-owner"
AGENT_SHELL_HEADER: Final = "x-relaybay-agent-shell"
CSRF_HEADER: Final = "x-csrf-token"
CSRF_FIELD: Final = "csrf"

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_SECRET_NAMES: Final = frozenset(
    {"token", "access_token", "bearer", "authorization", "api_key", "apikey", "hook_key", "owner_key"}
)


@dataclass(frozen=True, slots=True)
class Caller:
    """Whom the gate let in, as handlers find it in `request.ctx.caller`.

    `kind` says by what; `same_user` that it came over the Unix socket from the server's own user; `cookie` is the
    browser login's value, for CSRF tokens.
    """

    kind: Literal["anyone", "agent", "hooks", "owner"]
    same_user: bool = False
    cookie: str = ""


_ANYONE = Caller("anyone")
_AGENT = Caller("agent")
_AGENT_LOCAL = Caller("agent", same_user=True)
_HOOKS = Caller("hooks")
_HOOKS_LOCAL = Caller("hooks", same_user=True)
_OWNER_LOCAL = Caller("owner", same_user=True)

Page = Callable[[Request, Answer], HTTPResponse]


class Gate:
    """Checks every request and reads its body.

    Args:
        keys: what opens the doors; replaced by `use` after a rotation.
        login_file: keeps browser logins over a restart; without it they end with the gate.
        now_us: microseconds since the epoch, for the life of codes and logins.
        hosts: further exact Host values (`name:port`) that are ours.
        page: makes the page for a browser that has no login; without it the refusal is a problem like any other.
    """

    def __init__(
        self,
        keys: Keys,
        *,
        now_us: Callable[[], int],
        hosts: Iterable[str] = (),
        limits: BodyLimits = LIMITS,
        page: Page | None = None,
        login_file: LoginFile | None = None,
    ) -> None:
        self.logins = Logins(now_us, login_file)
        self.limits = limits
        self._more_hosts = tuple(hosts)
        self._page = page
        self._names: dict[int, tuple[frozenset[str], frozenset[str]]] = {}
        self._generation = Generation()
        self.use(keys)

    def use(self, keys: Keys) -> None:
        """Takes new keys; the old ones open nothing from now on, nor does a head that was let in with them."""
        self._generation.ended = True
        self._generation = Generation()
        self._secrets = (keys.token, keys.hook_key, keys.owner_key)
        self._token, self._hook_key, self._owner_key = (key.encode("ascii") for key in self._secrets)

    def install(self, app: Sanic) -> None:  # type: ignore[type-arg]
        """Puts the gate before every route of `app`, and the security headers on every response."""
        app.register_middleware(self.admit, "request")
        app.register_middleware(add_security_headers, "response")  # type: ignore[arg-type]

        @app.before_server_start
        async def _no_route_without_door(app: Sanic) -> None:  # type: ignore[type-arg]
            missing = unguarded(app)
            assert not missing, f"routes without a door: {missing}"

    async def admit(self, request: Request) -> HTTPResponse | None:
        """None lets the request pass; its body is read then, and `request.ctx.caller` says whose it is."""
        if not request.head:
            return None  # Made up by Sanic to answer bytes that were no request; there is nothing to check.
        generation = self._generation  # Before the first wait: what is let in now is let in with these keys.
        refused = self._reach(request)
        if refused is None and request.route is not None:
            door: Door | None = getattr(request.route.ctx, "door", None)
            if door is None:
                return problem(word("http.not_found"))
            refused = (
                self._shape(request, door)
                or self._credentials(request, door)
                or await read_body(request, door, self.limits)
                or self._form(request, door)
            )
            if refused is not None and refused.id == "http.login_needed" and self._wants_page(request):
                assert self._page is not None
                return self._page(request, refused)
            if refused is None and door == "hooks" and request.route.ctx.short is not None:
                remember(request, request.route.ctx.short, generation, self.limits.bytes_max(door))
        if refused is None:
            return None
        if refused.id == "http.malformed" and request.stream is not None:
            # Where this request ends is in doubt, so nothing that follows on the connection is another one.
            cast("Http", request.stream).keep_alive = False
        challenge = {"WWW-Authenticate": "Bearer"} if refused.id == "http.unauthorized" else None
        return problem(refused, challenge)

    # --- login ---

    def log_in(self, code: str) -> HTTPResponse:
        """The answer to `GET /login?code=…`: the code swapped for a cookie and the way to the board, or a refusal."""
        cookie = self.logins.redeem(code)
        if cookie is None:
            return problem(word("http.login_code_used"))
        seconds = LOGIN_LIFE_US // 1_000_000
        set_cookie = f"{COOKIE}={cookie}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict"
        return HTTPResponse(b"", status=HTTPStatus.SEE_OTHER, headers={"Location": "/", "Set-Cookie": set_cookie})

    def log_out(self, request: Request) -> HTTPResponse:
        """Ends the caller's browser login; belongs behind a POST."""
        self.logins.end(request.ctx.caller.cookie)
        set_cookie = f"{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
        return HTTPResponse(b"", status=HTTPStatus.SEE_OTHER, headers={"Location": "/", "Set-Cookie": set_cookie})

    def stands(self, request: Request) -> bool:
        """Whether the caller's login has not ended since; one without a cookie has none that could."""
        cookie: str = request.ctx.caller.cookie
        return not cookie or self.logins.knows(cookie)

    def csrf_token(self, request: Request) -> str:
        """The token that forms on a page for this caller must carry."""
        return self.logins.csrf_token(request.ctx.caller.cookie)

    # --- reach ---

    def _reach(self, request: Request) -> Answer | None:
        headers = request.headers
        if not request.raw_url.startswith(b"/"):
            return word("http.malformed")  # Absolute form: the authority in it would be a second Host.
        if not all(map(_HEADER_NAME.fullmatch, headers)):
            return word(
                "http.malformed"
            )  # "Transfer-Encoding : chunked" is a header to some readers, and not to others.
        if over_unix(request):
            if not is_same_user(request):
                return word("http.peer_refused")
        else:
            given = headers.getall("host", [])
            if len(given) != 1 or not given[0].strip():
                return word("http.malformed")
            hosts, origins = self._own(request)
            if given[0].strip(" \t").lower() not in hosts:
                return word("http.host_refused")
            if "origin" in headers and not set(headers.getall("origin")) <= origins:
                return word("http.origin_refused")
            if headers.get("sec-fetch-site", "none").strip() not in ("none", "same-origin"):
                return word("http.origin_refused")
        if "upgrade" in headers:
            return word("http.upgrade_refused")
        if b"?" in request.raw_url or b"%" in request.raw_url or len(request.raw_url) > len(self._secrets[0]):
            return self._secret_in_url(request)
        return None

    def _own(self, request: Request) -> tuple[frozenset[str], frozenset[str]]:
        # The port is the socket's own: nothing that was configured or sent can make it another.
        assert request.conn_info is not None
        port = request.conn_info.sockname[1]
        names = self._names.get(port)
        if names is None:
            hosts = own_hosts(port) | frozenset(self._more_hosts)
            names = self._names[port] = (hosts, own_origins(port) | {f"http://{h}" for h in self._more_hosts})
        return names

    def _secret_in_url(self, request: Request) -> Answer | None:
        url = unquote(request.raw_url.decode("ascii", "replace"))
        if any(secret in url for secret in self._secrets):
            return word("http.token_in_url")
        query = parse_qsl(request.query_string, keep_blank_values=True)
        if any(name.lower() in _SECRET_NAMES for name, _ in query):
            return word("http.token_in_url")
        return None

    # --- shape ---

    def _shape(self, request: Request, door: Door) -> Answer | None:
        headers = request.headers
        if request.method in _READING and not has_body(request):
            return None
        if headers.get("content-encoding", "identity").strip().lower() != "identity":
            return word("http.encoding_refused")
        if request.method not in _READING and (has_body(request) or "content-type" in headers):
            wanted: tuple[str, ...] = (FORM, JSON) if door in ("board", "open") else (JSON,)
            if request.route.ctx.upload:  # type: ignore[union-attr]
                wanted = (*wanted, MULTIPART)
            given = headers.getall("content-type", [])
            if len(given) != 1 or not is_media(given[0], wanted):
                return word("http.content_type_refused", wanted=" or ".join(wanted))
        try:
            declared = int(headers.get("content-length", "0"))
        except ValueError:
            return word("http.malformed")
        return too_large(request, door, self.limits) if declared > self.limits.bytes_max(door) else None

    # --- credentials ---

    def _credentials(self, request: Request, door: Door) -> Answer | None:
        local = over_unix(request)
        if door == "open":
            request.ctx.caller = _ANYONE
            return None
        if door == "hooks":
            if local:
                request.ctx.caller = _HOOKS_LOCAL
                return None
            return self._bearer(request, (self._hook_key, self._token), _HOOKS)
        if door == "mcp":
            return self._bearer(request, (self._token,), _AGENT_LOCAL if local else _AGENT)
        if door == "api" and local:
            return self._owner(request)
        return self._cookie(request)

    def _bearer(self, request: Request, wanted: tuple[bytes, ...], caller: Caller) -> Answer | None:
        given = request.headers.getall("authorization", [])
        scheme, _, key = given[0].strip(" \t").partition(" ") if len(given) == 1 else ("", "", "")
        key = key.strip(" \t")
        # All are compared, whichever fits: the time taken says nothing about which door a key opens.
        fits = [_equal(key, one) for one in wanted]
        if scheme.lower() != "bearer" or not any(fits):
            return word("http.unauthorized")
        request.ctx.caller = caller
        return None

    def _owner(self, request: Request) -> Answer | None:
        if request.headers.get(AGENT_SHELL_HEADER, "0").strip() not in ("", "0"):
            return word("http.owner_only")
        given = request.headers.getall(OWNER_HEADER, [])
        if len(given) != 1 or not _equal(given[0].strip(" \t"), self._owner_key):
            return word("http.owner_key_needed")
        request.ctx.caller = _OWNER_LOCAL
        return None

    def _cookie(self, request: Request) -> Answer | None:
        # Cookies know no port: another local server may have set one of the same name beside ours.
        for cookie in request.cookies.getlist(COOKIE) or ():
            if self.logins.knows(cookie):
                request.ctx.caller = Caller("owner", cookie=cookie)
                return None
        return word("http.login_needed")

    def _form(self, request: Request, door: Door) -> Answer | None:
        if door not in ("board", "api") or request.method in _READING:
            return None
        caller: Caller = request.ctx.caller
        if caller.same_user:
            return None  # No browser can reach the Unix socket, and none knows the owner's key.
        if is_media(request.headers.get("content-type", ""), (MULTIPART,)):
            # Read once: the token stands in it, and the handler finds the rest there.
            request.ctx.parts = read_parts(request.headers["content-type"], request.body)
        given = request.headers.getall(CSRF_HEADER, []) or form_field(request, CSRF_FIELD)
        wanted = self.logins.csrf_token(caller.cookie)
        if len(given) != 1 or not _equal(given[0].strip(), wanted.encode("ascii")):
            return word("http.csrf_refused")
        return None

    def _wants_page(self, request: Request) -> bool:
        return self._page is not None and "text/html" in request.headers.get("accept", "")


def _equal(given: str, wanted: bytes) -> bool:
    # In constant time for equal lengths; the length of a key is no secret. The bytes are compared as they came.
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted)
