"""What lies where, how much of it, and until when: for people who look after storage."""
