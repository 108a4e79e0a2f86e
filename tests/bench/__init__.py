"""How long the slow things take, and what they hold: `make bench` prints all of it."""
