"""Tools that need something of the client: by a request in mid-call (2025-11-25), or by rounds (2026-07-28)."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from tests.api.mcp_fixture.content import text

Context = ServerRequestContext[Any, Any]
Answer = types.CallToolResult | types.InputRequiredResult


def _form(message: str, **properties: Any) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def _sampling(prompt: str, most: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=most))


ROOTS = types.ListRootsRequest()
NAME = _form("What is your name?", name={"type": "string"})
CAPITAL = _sampling("What is the capital of France?", 100)
GREETING = _sampling("Generate a greeting", 50)
CONFIRM = _form("Please confirm", ok={"type": "boolean"})
STEPS = (
    ("step1", _form("Step 1: What is your name?", name={"type": "string"})),
    ("step2", _form("Step 2: What is your favorite color?", color={"type": "string"})),
)
CONTEXT = _form("What context should the prompt use?", context={"type": "string"})


def done(said: str) -> types.CallToolResult:
    """A whole result of one text."""
    return types.CallToolResult(content=[text(said)])


def _content(response: Any, name: str) -> str | None:
    """A form's field, when the person filled the form in."""
    if not isinstance(response, types.ElicitResult) or response.action != "accept":
        return None
    value = (response.content or {}).get(name)
    return None if value is None else str(value)


def by_rounds(ctx: Context, params: types.CallToolRequestParams) -> Answer:
    """The tools named `test_input_required_result_…`."""
    given = params.input_responses or {}
    state = params.request_state
    kind = params.name.removeprefix("test_input_required_result_")
    if kind == "elicitation":
        name = _content(given.get("user_name"), "name")
        return done(f"Hello, {name}!") if name else _ask(user_name=NAME)
    if kind == "sampling":
        said = given.get("capital_question")
        return done(_sampled(said)) if isinstance(said, types.CreateMessageResult) else _ask(capital_question=CAPITAL)
    if kind == "list_roots":
        roots = given.get("client_roots")
        if isinstance(roots, types.ListRootsResult):
            return done("Roots: " + ", ".join(str(root.uri) for root in roots.roots))
        return _ask(client_roots=ROOTS)
    if kind in ("request_state", "tampered_state"):
        if state is None:
            return _ask("minted here", confirm=CONFIRM)
        return done("state-ok") if state == "minted here" else _ask("minted here", confirm=CONFIRM)
    if kind == "multiple_inputs":
        wanted = {"user_name": NAME, "greeting": GREETING, "client_roots": ROOTS}
        return done("All three are here.") if set(wanted) <= set(given) and state else _ask("three", **wanted)
    if kind == "multi_round":
        # The state says how far we are: the number of the step that was asked last.
        asked = int(state or 0)
        answered = asked and STEPS[asked - 1][0] in given
        at = asked if answered else max(asked - 1, 0)
        if at == len(STEPS):
            return done("Both steps are done.")
        return _ask(str(at + 1), **{STEPS[at][0]: STEPS[at][1]})
    assert kind == "capabilities", kind
    if given:
        return done("Thank you.")
    can = ctx.session.client_capabilities
    possible = {"user_name": (NAME, can and can.elicitation), "question": (CAPITAL, can and can.sampling)}
    wanted = {name: request for name, (request, able) in possible.items() if able}
    return _ask(**wanted) if wanted else done("There is nothing that I could ask.")


def prompt_by_rounds(params: types.GetPromptRequestParams) -> types.GetPromptResult | types.InputRequiredResult:
    """The one prompt that asks first."""
    context = _content((params.input_responses or {}).get("user_context"), "context")
    if context is None:
        return _ask(user_context=CONTEXT)
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text(f"Context: {context}"))])


def _ask(state: str | None = None, /, **requests: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def _sampled(result: types.CreateMessageResult) -> str:
    return f"LLM response: {getattr(result.content, 'text', '')}"


# --- requests in mid-call ---


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_VALUES = [("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")]
_TITLED = [{"const": value, "title": title} for value, title in _VALUES]
_PLAIN = ["option1", "option2", "option3"]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": _PLAIN},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _PLAIN}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}


async def in_mid_call(ctx: Context, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """The tools of the older era that ask while they run."""
    if name == "test_sampling":
        message = types.SamplingMessage(role="user", content=text(str(arguments["prompt"])))
        result = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
        return done(_sampled(result))
    if name == "test_elicitation":
        people = {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        }
        schema = {"type": "object", "properties": people, "required": list(people)}
        said = await ctx.session.elicit_form(str(arguments["message"]), schema, ctx.request_id)
        return done(f"User response: action={said.action}, content={said.content}")
    asked = DEFAULTS if name == "test_elicitation_sep1034_defaults" else ENUMS
    schema = {"type": "object", "properties": asked, "required": []}
    said = await ctx.session.elicit_form("Please look these over.", schema, ctx.request_id)
    return done(f"Elicitation completed: action={said.action}, content={said.content}")


def need_sampling(ctx: Context) -> None:
    """Refuses a client that has not said that it can sample."""
    can = ctx.session.client_capabilities
    if can is None or can.sampling is None:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This tool needs sampling, which the client did not declare.",
            {"requiredCapabilities": {"sampling": {}}},
        )
