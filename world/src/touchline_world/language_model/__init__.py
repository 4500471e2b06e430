"""A model behind OpenAI's chat interface that knows football words and its own videos."""
