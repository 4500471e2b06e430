"""What the library knows of a video beside its pictures: its title, and the match, teams and player of its goal."""
