"""The readers of live streams: publishers by RTMP, by SRT, and by a media server that stands in front."""
