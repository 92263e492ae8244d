"""THE JUDGE: V(θ), from a population to predicted returns."""
