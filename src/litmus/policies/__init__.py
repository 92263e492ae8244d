"""WHAT IS JUDGED: policies, one at a time or as rows of a population."""
