"""From an original to a video that plays: HLS, a poster and a storyboard."""
