"""A model behind OpenAI's chat interface: aliases and validation ask it, and neither believes it blindly."""
