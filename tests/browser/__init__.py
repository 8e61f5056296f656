"""The board in a real browser: what a person, a keyboard, a screen reader and a hostile text meet there.

Belongs here: whatever only a browser can tell (layout, focus, live updates, the accessibility tree, what is requested).
Does not: what the HTML says (`tests/ui`), which is far quicker to ask. The pages come from the app's own routes and are
found by following its links, so a new page is tested without a change here.
"""
