"""One call of one use case from the event loop, and its outcome in the words of the surfaces."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable
from concurrent.futures import Future
from http import HTTPStatus
from typing import Any

from sanic import HTTPResponse

from relaybay.answers import Answer, word, word_refusal
from relaybay.api.commits import Commits
from relaybay.api.problems import problem
from relaybay.api.routes import reply
from relaybay.domain import Outcome
from relaybay.errors import StoreError, StoreFull, StoreReadOnly
from relaybay.service.relay import Relay
from relaybay.service.views_owner import for_owner

UseCase = Callable[..., Outcome]
_log = logging.getLogger(__name__)


async def run(relay: Relay, use_case: UseCase, /, *args: Any, read: bool = False, **named: Any) -> Outcome:
    """Carries out `use_case(tx, relay, *args, **named)` on the writer's thread, or on a reader's.

    A caller that goes away leaves the use case alone: it was queued, so it is carried out whole, and only its answer is
    lost. Raises what the use case raises, and the store's errors.
    """
    work: Callable[[Any], Outcome] = lambda tx: use_case(tx, relay, *args, **named)  # noqa: E731
    future: Future[Outcome] = relay.store.submit_read(work) if read else relay.store.submit(work)
    waiting = asyncio.wrap_future(future)
    waiting.add_done_callback(_seen)
    return await asyncio.shield(waiting)


def _seen(future: asyncio.Future[Outcome]) -> None:
    # Whoever waited may be gone: nobody else asks for the failure, and asyncio would complain of that much later.
    if not future.cancelled() and (failure := future.exception()):
        _log.debug("a use case failed: %s", failure)


async def run_feed(
    relay: Relay, commits: Commits, events_since: UseCase, *, cursor: str, wait_s: int, **named: Any
) -> Outcome:
    """The event feed with a long poll: waits up to `wait_s` seconds for something the caller asked for.

    Without a cursor there is nothing to wait for: the answer is the present cursor alone.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    with commits.listening() as listener:
        while True:
            # Taken before the look: what is committed during it rings again.
            listener.take()
            outcome = await run(relay, events_since, cursor=cursor, read=True, **named)
            left = until - loop.time()
            if not cursor or not outcome.ok or outcome.data["events"] or left <= 0:
                return outcome
            if not await commits.heard(listener, left):
                return outcome
            cursor = outcome.data["cursor"]


def refusal_of(outcome: Outcome) -> Answer | None:
    """The worded refusal of an outcome, if it is one. A sentence without a status of its own counts as 422."""
    if outcome.refusal is None:
        return None
    answer = word_refusal(outcome.refusal)
    if answer.status < HTTPStatus.BAD_REQUEST:
        answer = dataclasses.replace(answer, status=int(HTTPStatus.UNPROCESSABLE_ENTITY), error=True)
    return answer


def answered(outcome: Outcome) -> dict[str, Any]:
    """The structured answer of a use case that was carried out, with its warnings worded. Nothing in it is null."""
    data = {name: _present(value) for name, value in outcome.data.items() if value is not None}
    warnings = [word(answer_id, **values) for answer_id, values in outcome.warnings]
    if warnings:
        data["warnings"] = [{"code": one.code, "text": one.text} for one in warnings]
    return data


def _present(value: Any) -> Any:
    # Output schemas know optional members, but no null: clients check results against them.
    if isinstance(value, dict):
        return {name: _present(member) for name, member in value.items() if member is not None}
    return [_present(one) for one in value] if isinstance(value, (list, tuple)) else value


def respond(outcome: Outcome, status: int = 200) -> HTTPResponse:
    """An outcome as an HTTP response: JSON, or a problem in the words for the owner, who alone reads these."""
    if outcome.refusal is not None:
        outcome = dataclasses.replace(outcome, refusal=for_owner(outcome.refusal))
    refused = refusal_of(outcome)
    return problem(refused) if refused is not None else reply(answered(outcome), status)


def failure_of(error: Exception, what: str) -> Answer:
    """The words for an exception that ended a call; what is a bug is logged with its trace."""
    if isinstance(error, (StoreFull, StoreReadOnly)):
        return word("http.store_full")
    if isinstance(error, StoreError):
        _log.error("%s: %s", what, error)
        return word("http.store_unavailable")
    _log.error("%s failed", what, exc_info=error)
    return word("http.internal")
