"""The end of a video: its rows and objects, and the history of jobs that ended long ago."""
