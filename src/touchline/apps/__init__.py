"""Where the product is put together: the command line, the settings and one composition root per role."""
