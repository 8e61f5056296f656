"""Exports over the JSON API, as `relaybay export` asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import jsonschema
import pytest

from tests.api.mcp_rig import Served, serve, stop


@pytest.fixture
def served(tmp_path, socket_path) -> Iterator[Served]:
    one = serve(tmp_path, socket_path=socket_path)
    yield one
    stop(one)


@pytest.mark.spec("40")
def test_a_task_and_its_project_as_markdown(served) -> None:
    served.owner.post("/api/v1/tasks", {"project": "shop", "title": "Paint", "body": "*blue*"})
    for path, name, head in (
        ("/api/v1/tasks/{key}/export", "shop-1", "# shop-1: `Paint`"),
        ("/api/v1/projects/{slug}/export", "shop", "# shop: `shop`"),
    ):
        answer = served.owner.get(path.replace("{key}", name).replace("{slug}", name))
        described = served.document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(answer.json, {**described, "components": served.document["components"]})
        assert answer.json["name"] == f"{name}.md" and f"\n{head}\n" in answer.json["markdown"]
    assert served.owner.get("/api/v1/tasks/shop-9/export").json["code"] == "task_unknown"
    assert served.owner.get("/api/v1/projects/x/export").json["code"] == "project_unknown"
