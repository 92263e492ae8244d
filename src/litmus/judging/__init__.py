"""JUDGE ANY POLICY: fit an evaluator to a zoo, score, improve, compare and rank policies."""
