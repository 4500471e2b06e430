"""Objects by S3: immutable puts, streams, signed URLs and multipart uploads."""
