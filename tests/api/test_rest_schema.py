"""The JSON API against the document that it serves: Schemathesis with one worker and every phase it has, links included.

Whatever the document allows is answered as it says, whatever it forbids is refused, nothing is a 5xx, and every refusal
is a problem with a known code. RELAYBAY_SOAK=1 draws anew each time, and far more.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from schemathesis import engine
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events

from relaybay import specs
from tests.api.mcp_rig import CHANNELS, Served, serve, stop

# One run of the engine is what all the tests look at.
pytestmark = pytest.mark.xdist_group("rest-schema")

SOAK = bool(os.environ.get("RELAYBAY_SOAK"))
EXAMPLES = 150 if SOAK else 6
CODES = {answer.code for answer in specs.answers().values() if answer.code}
PHASES = ("examples", "coverage", "fuzzing", "stateful")
ROTATION = "/api/v1/token/rotate"
"""A rotation would shut out whoever else uses this server; tests/api/test_rest.py has it."""
# Beyond its schema a request may be refused for what it says: a blank title, a name that is taken.
ACCEPTED = ["2xx", "401", "403", "404", "409", "422"]


@dataclass
class Talk:
    """What was asked and answered in one run of the engine."""

    phases: dict[str, Status] = field(default_factory=dict)
    operations: dict[str, set[str]] = field(default_factory=dict)
    answers: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    links: Counter[str] = field(default_factory=Counter)
    refused: dict[str, set[str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    folder = Path(tempfile.mkdtemp(prefix="rb"))  # Short, because a socket's path is limited.
    (folder / "run").mkdir(mode=0o700)
    one = serve(folder, socket_path=folder / "run" / "s", messaging=CHANNELS)
    one.post("sessions", desktop="d-web", title="web")
    # Held: a script is of nobody's cohort.
    KNOWN["path.message_id"] = one.post("script/messages", to="S-1", body="Build failed.")["message_id"]
    one.post("tasks", project="shop", title="Paint the fence")
    yield one
    stop(one)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def document(served: Served) -> Any:
    """As any client would read it."""
    return served.browser().get("/api/v1/openapi.json").json


# What exists, half of the time: no drawing would hit upon it.
KNOWN = {
    "body.project": "shop", "body.session": "web", "path.key": "shop-1", "path.ref": "S-1", "query.task": "shop-1",
    "query.session": "S-1", "body.to": "S-1", "body.topic": "ci.fence", "body.policy": "hold", "query.topic": "ci.*",
}  # fmt: skip
LINKED = {"generation": {"mode": "positive", "max-examples": 10 * EXAMPLES}, "max-steps": 6}
ALL_PHASES = {
    "examples": {"fill-missing": True},
    "coverage": {"generate-duplicate-query-parameters": True},
    "fuzzing": {"generation": {"max-examples": EXAMPLES}},
    "stateful": LINKED,
}
# The engine also infers links of its own. Again with the document's alone, until each of those was followed.
ROUNDS = 20
LINKS_ALONE = {
    **{phase: {"enabled": False} for phase in PHASES},
    "stateful": {**LINKED, "inference": {"algorithms": []}, "enabled": True},
}


@pytest.fixture(scope="module")
def talk(served: Served, document: Any) -> Talk:
    found = Talk()
    _run(served, ALL_PHASES, found)
    phases = dict(found.phases)
    for again in range(ROUNDS):
        if links(document) <= set(found.links):
            break
        _run(served, LINKS_ALONE, found, seed=again)
    return replace(found, phases=phases)


def _run(served: Served, phases: dict[str, Any], found: Talk, seed: int | None = None) -> None:
    headers = served.browser().headers
    config = SchemathesisConfig.from_dict(
        {
            "workers": 1,
            "headers": headers,
            "request-timeout": 20,
            "continue-on-failure": True,
            **({} if seed is None else {"seed": seed}),
            "generation": {"mode": "all", "deterministic": seed is None and not SOAK},
            "checks": {"positive_data_acceptance": {"expected-statuses": ACCEPTED}},
            "phases": phases,
            "dictionaries": {name: {"values": [value]} for name, value in KNOWN.items()},
            "parameters": {name: {"dictionary": name, "probability": 0.5} for name in KNOWN},
        }
    )
    url = f"{served.server.url}/api/v1/openapi.json"
    api = schemathesis.openapi.from_url(url, headers=headers, config=config).exclude(path=ROTATION)
    for event in engine.from_schema(api).execute():
        if isinstance(event, events.ScenarioFinished):
            _keep(found, event)
        elif isinstance(event, events.PhaseFinished):
            found.phases[event.phase.name.value] = event.status
        elif isinstance(event, events.NonFatalError | events.FatalError):
            found.failures.append(str(event))


def _keep(found: Talk, event: events.ScenarioFinished) -> None:
    phase, recorder = event.phase.value, event.recorder
    for key, interaction in recorder.interactions.items():
        node, answer = recorder.cases[key], interaction.response
        label = node.value.operation.label
        if answer is None:
            found.failures.append(f"{label}: no answer")
            continue
        found.operations.setdefault(phase, set()).add(label)
        found.answers[phase, label, answer.status_code] += 1
        if answer.status_code >= 400 and node.value.method != "HEAD":
            code = json.loads(answer.content).get("code")
            found.refused.setdefault(code, set()).add(f"{label}: {answer.status_code}")
        if node.transition is not None and node.is_transition_applied and answer.status_code < 300:
            found.links[node.transition.id] += 1
    for key, judged in recorder.checks.items():
        for one in judged:
            if one.status is not Status.SUCCESS:
                why = one.failure_info.failure if one.failure_info else "an error of its own"
                found.failures.append(f"{phase}, {one.name}: {why}\n{recorder.cases[key].value.as_curl_command()}")


def operations(document: Any) -> set[str]:
    return {
        f"{method.upper()} {path}"
        for path, described in document["paths"].items()
        for method in described
        if path != ROTATION
    }


def links(document: Any) -> set[str]:
    """Every link that the document declares, under the engine's own name for it."""
    labels = {
        operation["operationId"]: f"{method.upper()} {path}"
        for path, described in document["paths"].items()
        for method, operation in described.items()
    }
    return {
        f"{labels[operation['operationId']]} -> [{status}] {name} -> {labels[link['operationId']]}"
        for described in document["paths"].values()
        for operation in described.values()
        for status, answer in operation["responses"].items()
        for name, link in answer.get("links", {}).items()
    }


@pytest.mark.spec("70", "75")
def test_the_document_is_kept_in_every_phase(talk: Talk, document: Any, record_property: Any) -> None:
    record_property("count:requests drawn from the document", sum(talk.answers.values()))
    assert not talk.failures, "\n\n".join(talk.failures[:5])
    for phase in PHASES:
        assert talk.phases[phase] is Status.SUCCESS, (phase, talk.phases)
    expected = operations(document)
    assert len(expected) > 25
    for phase in ("coverage", "fuzzing"):
        assert talk.operations[phase] == expected, (phase, talk.operations[phase] ^ expected)
    for phase, label, status in talk.answers:
        assert status < 500, (phase, label, status)


@pytest.mark.spec("75")
def test_every_refusal_has_a_known_code(talk: Talk) -> None:
    assert len(talk.refused) > 5
    unknown = {code: where for code, where in talk.refused.items() if code not in CODES or code == "internal"}
    assert not unknown


@pytest.mark.spec("70")
def test_every_link_of_the_document_was_followed(talk: Talk, document: Any) -> None:
    """What one operation made, the next one named; and it was there."""
    declared = links(document)
    assert len(declared) >= 4
    assert declared <= set(talk.links), (declared, talk.links)


@pytest.mark.spec("70")
def test_every_operation_was_also_carried_out(talk: Talk, document: Any) -> None:
    """A document whose requests are all refused would be kept as well. Those left out ask for what a drawing cannot hit
    upon: the token of an open review, an entry of the Inbox.
    """
    done = {label for _, label, status in talk.answers if status < 300}
    decided = {f"POST /api/v1/messages/{{message_id}}/{decision}" for decision in ("approve", "reject")}
    hard = {"POST /api/v1/inbox/seen"} | decided
    assert operations(document) - done <= hard
