"""An archive of fingerprints on disk that finds every copy of a clip. One writer, many readers.

Invariant: a reader sees the state of one commit, whole; what was committed survives a crash at any moment.
"""

from .model import IndexInfo, IndexMatch
from .reader import IndexReader
from .writer import IndexWriter

__all__ = ["IndexInfo", "IndexMatch", "IndexReader", "IndexWriter"]
