"""What crosses a border between planes, processes and machines."""
