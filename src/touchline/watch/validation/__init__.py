"""Whether a video shows football, was filmed from a screen, and shows the goal's minute on its clock."""
