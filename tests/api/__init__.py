"""The HTTP surfaces over real sockets: the gate, the bridge, the server, and what stands on them."""
