"""The second way to a video's address: yt-dlp, which knows the network's other interfaces."""
