"""Files that strangers with bad intentions would send, made from good ones. See `corpus`."""
