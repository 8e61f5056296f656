"""The core's code, changed in one place at a time: the tests have to notice each change.

Belongs here: how `relaybay/rules/`, `relaybay/machines/` and `relaybay/service/` are changed, which tests are run over a
change, and the list of changes that no test can notice, each with its reason. Does not: the same for the tables, which
is `tests/conformance/test_table_mutations.py`. Nothing of `tests/conformance/` is ever run over a change, so that no
direct comparison of code and table counts here.
"""
