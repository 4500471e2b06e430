"""`touchline demo`: a match day of the simulated world through the whole product."""
