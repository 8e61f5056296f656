"""Use cases: one function = one transaction = one Outcome, in the order of a thing's life.

Belongs here: joining rules, machines and store; what is kept in memory beside the store (presence, mailbox, waits).
Does not: HTTP, JSON-RPC, templates, sentences, SQL, and anything `async`.
"""
