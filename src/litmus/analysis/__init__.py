"""WHAT RUNS TELL: records, groups, statistics, knowledge, behaviour. Nothing is drawn here."""
