"""What runs inside the sandbox: the only place that opens what strangers wrote. `python -m touchline.media.child`.

Invariant: imports before limits, limits before the first byte of input, and no file of its own but those it is given.
"""
