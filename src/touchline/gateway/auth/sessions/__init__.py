"""Who is here: signing in, sessions, and the keys behind access tokens."""
