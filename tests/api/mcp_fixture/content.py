"""The prompts, resources and the small binary pieces that the suite asks for by name."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError


def _png() -> bytes:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")
    )


def _wav() -> bytes:
    """Eight samples of silence."""
    data = b"\x80" * 8
    form = struct.pack("<HHIIHH", 1, 1, 8_000, 8_000, 1, 8)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


PNG = base64.b64encode(_png()).decode()
WAV = base64.b64encode(_wav()).decode()

TEMPLATE = re.compile(r"test://template/([^/]+)/data")
RESOURCES = [
    types.Resource(uri="test://static-text", name="static-text", description="A text.", mime_type="text/plain"),
    types.Resource(uri="test://static-binary", name="static-binary", description="A picture.", mime_type="image/png"),
    types.Resource(
        uri="test://watched-resource", name="watched-resource", description="One to watch.", mime_type="text/plain"
    ),
]
TEMPLATES = [
    types.ResourceTemplate(
        uri_template="test://template/{id}/data", name="template", description="By id.", mime_type="application/json"
    )
]
_TEXTS = {
    "test://static-text": "This is the content of the static text resource.",
    "test://watched-resource": "Nothing has happened here yet.",
}


def read(uri: str) -> types.ReadResourceResult:
    """The resource at `uri`; an unknown one is an error that names it."""
    if uri in _TEXTS:
        return _one(types.TextResourceContents(uri=uri, mime_type="text/plain", text=_TEXTS[uri]))
    if uri == "test://static-binary":
        return _one(types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG))
    if found := TEMPLATE.fullmatch(uri):
        key = found[1]
        text = json.dumps({"id": key, "templateTest": True, "data": f"Data for ID: {key}"})
        return _one(types.TextResourceContents(uri=uri, mime_type="application/json", text=text))
    raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})


def _one(content: types.TextResourceContents | types.BlobResourceContents) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[content])


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    """A resource inside a result."""
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.EmbeddedResource(type="resource", resource=contents)


def image() -> types.ImageContent:
    """The red pixel inside a result."""
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def _argument(name: str) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=f"The argument {name}.", required=True)


PROMPTS = [
    types.Prompt(name="test_simple_prompt", description="Takes nothing."),
    types.Prompt(
        name="test_prompt_with_arguments", description="Takes two.", arguments=[_argument("arg1"), _argument("arg2")]
    ),
    types.Prompt(
        name="test_prompt_with_embedded_resource", description="Embeds.", arguments=[_argument("resourceUri")]
    ),
    types.Prompt(name="test_prompt_with_image", description="Shows."),
    types.Prompt(name="test_input_required_result_prompt", description="Asks before it answers."),
]


def prompt(name: str, arguments: dict[str, str]) -> types.GetPromptResult:
    """The prompts that need no answer of the client first."""
    parts: list[Any]
    if name == "test_simple_prompt":
        parts = [text("This is a simple prompt for testing.")]
    elif name == "test_prompt_with_arguments":
        parts = [text(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")]
    elif name == "test_prompt_with_embedded_resource":
        resource = embedded(arguments["resourceUri"], "Embedded resource content for testing.")
        parts = [resource, text("Please process the embedded resource above.")]
    elif name == "test_prompt_with_image":
        parts = [image(), text("Please analyze the image above.")]
    else:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {name}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=part) for part in parts])


def text(said: str) -> types.TextContent:
    """A text inside a result."""
    return types.TextContent(type="text", text=said)
