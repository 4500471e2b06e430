"""The same task in a process without walls, that has the codecs before the clock runs. The video is its standard input,
its options are its argument; it prints the seconds."""

import json
import sys
import time

from decoding.work import decode

begun = time.perf_counter()
decode(json.loads(sys.argv[1]), None)
print(time.perf_counter() - begun)
