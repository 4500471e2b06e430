"""What runs inside the sandbox: the only place that opens what strangers wrote. `python -m touchline.media.child`.

Invariant: imports before limits, limits before the first byte of input; nothing of ours but `media` is imported.
"""
