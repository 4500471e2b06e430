"""One document for each job that ended, for those who read a bucket and no database."""
