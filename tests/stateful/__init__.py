"""Random and directed runs over the real core and a real store; what must hold is looked at after every step."""
