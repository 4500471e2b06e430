"""What a person or a test asks the world about itself."""
