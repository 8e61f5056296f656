"""Texts that want to be more than text, or look like another one."""

from __future__ import annotations

NAME_CHARS = 190
BODY_CHARS = 3_900

MARKUP = (
    "<script>document.title='spoofed'</script>",
    "<img src=x onerror=\"document.title='spoofed'\">",
    "<img src=http://evil.example/pixel.png>",
    "\"><svg onload=document.title='spoofed'>",
    "</textarea></title></script></style><h1 id=main>spoofed</h1>",
    "<a href=javascript:document.title='spoofed' accesskey=x autofocus>x</a>",
    "<form action=http://evil.example><button data-hotkey=b>x</button></form>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<style>@import 'http://evil.example/x.css'; * { display: none }</style>",
    "<dialog open>spoofed</dialog><iframe src=http://evil.example></iframe>",
)
ATTRIBUTES = (
    "<b hx-get=/logout hx-trigger=load>x</b>",
    "<div hx-on:click=alert(1) hx-swap-oob=true id=nav>x</div>",
    "<i data-live='*' data-hotkey='g b' data-expires=2000-01-01>x</i>",
    '" hx-get="/inbox" hx-trigger="load" x="',
    "' onmouseover='alert(1)' x='",
)
MARKDOWN = (
    "![p](http://evil.example/pixel.png) [x](javascript:alert(1)) [y](//evil.example)",
    "[x]: http://evil.example\n\n![x]",
)
LOOKS = (
    "safe\u202egnp.exe\u202c and \u2066isolated\u2069",
    "zero\u200bwidth\u200d\u2060\ufeff joined",
    "\u05e9\u05dc\u05d5\u05dd \u0639\u0644\u064a\u0643\u0645 (right to left)",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f3f3\ufe0f\u200d\U0001f308 e\u0301\u0301\u0301\u0301\u0301",
    "(9) Inbox \u00b7 relaybay",
    "W" * 150,
)
LINES = (*MARKUP, *ATTRIBUTES, *MARKDOWN, *LOOKS, "long" * (BODY_CHARS // 4))
"""The last is one line without a blank, as long as a message may be; nothing longer is admitted anywhere an agent writes."""
LONGEST = "x" * 1_000_000
"""A line that no surface takes: the refusal must not break the page either."""


def in_name(text: str) -> str:
    """The text as far as a name or a title takes it: one line, not too long."""
    return " ".join(text.split())[:NAME_CHARS]
