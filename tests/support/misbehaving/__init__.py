"""A child that was taken over by its input: it does what no child of ours would. Run by the sandbox in the tests."""
