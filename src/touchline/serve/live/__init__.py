"""Live streams on a node: publishers come in by RTMP and SRT, viewers and recordings get segments."""
