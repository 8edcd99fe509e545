"""Tests of Transformer Lab. `python -m tests.figures` prints the measured errors, `python -m tests.mutants` runs the mutants."""
