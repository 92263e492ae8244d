"""WHAT RUNS TELL: records, groups, statistics, what V knows, how a policy behaves. Nothing is drawn here."""
