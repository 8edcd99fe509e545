"""Training: corpora and the loops that learn from them.

Floor 4b. `world_corpus` writes the sentences of mini-world, `world` is the model, `world_training` trains it and
`world_measures` says what it has learned. Nothing here is imported by `import transformer_lab`.
"""
