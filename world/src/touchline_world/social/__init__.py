"""The social network: a search page that scrolls, the syndication endpoint, and a video CDN."""
