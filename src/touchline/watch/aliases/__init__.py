"""Words by which people call a team: from Wikidata, chosen by a model, or made by rules when nobody knows better."""
