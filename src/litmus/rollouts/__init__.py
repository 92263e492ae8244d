"""HOW EPISODES ARE RUN: θ and episode indices in, episodes out, in the order of the indices."""
