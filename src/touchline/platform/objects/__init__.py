"""Objects by S3: immutable puts, streams, signed links and uploads in parts."""
