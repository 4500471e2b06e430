"""What lies in the object store of each video, as its tables say."""
