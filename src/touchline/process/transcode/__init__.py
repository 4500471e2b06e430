"""From an original to something that plays: HLS and a poster."""
