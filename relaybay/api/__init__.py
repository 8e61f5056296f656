"""HTTP surfaces: the gate, the routes, the MCP bridge, and handlers that translate and call one use case.

Belongs here: reading a request, calling the service, writing its outcome. Does not: rules, wording, SQL, access
checks outside `gate.py`.
"""
