"""Markdown of tasks and comments → safe HTML (page 70): no raw HTML, nothing that another server would see.

Links go to http and https only, and only when somebody follows them; an image is such a link, by its alternative text.
Headings stand below the page's own.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup

from relaybay.ui.text import decoded, visible

_HEADING_STEP: Final = 3
_HEADING_LEVEL_MAX: Final = 6
_NESTING_MAX: Final = 20
_Env = MutableMapping[str, Any]
_Tokens = Sequence[Token]


def _make() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": _NESTING_MAX})
    md.enable(["table", "strikethrough"])
    md.disable(["html_block", "html_inline"])
    md.validateLink = _goes_to_the_web  # type: ignore[method-assign,assignment]
    md.core.ruler.push("lower_headings", _lower_headings)
    for name, rule in (
        ("text", _text),
        ("code_inline", _code_inline),
        ("code_block", _code_block),
        ("fence", _code_block),
        ("link_open", _link_open),
        ("image", _image),
    ):
        md.add_render_rule(name, rule)
    return md


def _goes_to_the_web(address: str) -> bool:
    return address.strip().lower().startswith(("http://", "https://"))


def _lower_headings(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _HEADING_STEP, _HEADING_LEVEL_MAX)}"


# Rules have the library's signature; every text goes through `visible`, which also escapes it.


def _text(_self: RendererHTML, tokens: _Tokens, at: int, _options: OptionsDict, _env: _Env) -> str:
    return str(visible(tokens[at].content))


def _code_inline(_self: RendererHTML, tokens: _Tokens, at: int, _options: OptionsDict, _env: _Env) -> str:
    return f"<code>{visible(tokens[at].content)}</code>"


def _code_block(_self: RendererHTML, tokens: _Tokens, at: int, _options: OptionsDict, _env: _Env) -> str:
    return f"<pre><code>{visible(tokens[at].content)}</code></pre>\n"


def _link_open(self: RendererHTML, tokens: _Tokens, at: int, options: OptionsDict, env: _Env) -> str:
    tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    tokens[at].attrSet("target", "_blank")
    return self.renderToken(tokens, at, options, env)


def _image(self: RendererHTML, tokens: _Tokens, at: int, options: OptionsDict, env: _Env) -> str:
    alternative = self.renderInlineAsText(tokens[at].children or [], options, env).strip()
    text = visible(f"{alternative} (image)" if alternative else "(image)")
    if sum(token.nesting for token in tokens[:at] if token.type.startswith("link_")):
        return str(text)  # No link stands in a link.
    address = str(tokens[at].attrGet("src") or "")
    link = Markup('<a href="{}" rel="noopener noreferrer nofollow" target="_blank">{}</a>')
    return str(link.format(address, text))


_MARKDOWN: Final = _make()


def markdown_filter(shown: Any) -> Markup:
    """Template filter: a literal that holds Markdown, as HTML."""
    return Markup('<div class="md" dir="auto">{}</div>').format(Markup(_MARKDOWN.render(decoded(shown))))  # noqa: S704
