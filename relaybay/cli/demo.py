"""`relaybay demo`: hands over to `relaybay.demo`, which plays it."""

from __future__ import annotations

import click


@click.command("demo")
@click.option("--once", is_flag=True, help="End when the play is over, instead of keeping the board open.")
def demo_command(once: bool) -> int:
    """Play the main job in a minute on a throw-away store, with the board open on it.

    Two sessions, a message sent, delivered mid-turn and acknowledged, a comment from the owner, a Stop block; then a
    script's message to a topic, and one that is held until the owner approves it.
    """
    from relaybay.demo import main

    return main(once=once)
