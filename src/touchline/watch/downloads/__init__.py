"""From a found post to a video that lies in the object store, was looked at and has a fingerprint."""
