"""Pictures of a take, one after the other, with what is written on them."""
