"""The simulated outside world: the demo and the tests run the product against it. The product imports nothing of it."""

__version__ = "0.1.0"
