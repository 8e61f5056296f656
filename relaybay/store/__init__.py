"""The store: Pony's model, queries by intention, and the one place that opens a connection.

Belongs here: reading and writing rows. Does not: rules, machines, words, and the decision whether something may
be done; only `service` joins those with the rows.
"""
