"""Training: corpora and the loops that learn from them.

Floor 4b. Nothing here is imported by `import transformer_lab`. Three parts:

* Mini-world: `world_corpus` writes its sentences, `world` is the model, `world_training` trains it and `world_measures` says what
  it has learned.
* Any encoder–decoder: `loop` is the training loop, in one screen; `loss`, `schedule`, `batches`, `options`, `state` and
  `distributed` stand around it.
* The translator: `grammar` writes sentences with their alignments and `tatoeba` reads real ones; `vocabulary`, `tokenizers` and
  `bpe` turn text into ids; `translator_card` trains, measures and describes; `translation` is text in, text out; `alignment` and
  `gradient_paths` look inside.
"""
