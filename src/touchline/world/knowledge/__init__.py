"""What knows things: Wikidata, and a model behind an OpenAI-compatible endpoint."""
