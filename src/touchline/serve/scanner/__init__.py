"""What lies in the bucket against what the tables know."""
