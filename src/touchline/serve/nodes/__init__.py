"""The machines that hold copies: registered, seen, gone."""
