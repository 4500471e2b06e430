"""The encoder at the stadium: publishes a drawn match by RTMP and SRT."""
