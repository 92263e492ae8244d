"""THE LOOP: what every algorithm shares."""
