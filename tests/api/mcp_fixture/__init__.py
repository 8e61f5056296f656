"""What the official MCP conformance suite needs: its installer, a runner, and a server that has what it asks for.

The suite calls tools, prompts and resources by fixed names. They live here, behind the very bridge that carries the
product's own tools, so that a fault of the bridge shows. Nothing of the product's tools belongs here.
"""
