"""The page: the built web application, served as files."""
