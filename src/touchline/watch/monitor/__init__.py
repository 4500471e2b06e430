"""Looks at matches: those to come now and then, those that are played every half minute."""
