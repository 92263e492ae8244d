"""WHAT IS KEPT: a run on disk. safetensors and JSON only; no pickle is ever read."""
