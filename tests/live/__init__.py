"""The real agent client, offline: what only a running Claude Code can show.

Here belong the rig (network namespace, scripted Messages API, runners of the client) and the cases that need
the client itself: text that reaches a model, a Stop that is blocked, a terminal that is woken, a call that is
tied to its session. What a posted hook payload can show without the client belongs in ``tests/api``.

Reading order: ``stub_api`` (the model), ``client`` (the agent), ``product`` (the server under test),
``rig`` (how they are put into a namespace and taken down), ``run`` (one case, inside), ``cases_*``, ``test_*``.
"""
