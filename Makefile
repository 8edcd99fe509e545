# Transformer Lab. `make book` and `make test` need nothing but Python 3.11 or newer and, the first time, the network:
# they make the environment by themselves. Settings (make book NAME=value) are explained in tools/setup.sh.

VENV ?= .venv
PORT ?= 8000
RUN = "$(VENV)/bin/python"
export CONSTRAINTS NEED_GB PYTHON TORCH_ARGS VENV
export PYTHONUTF8 = 1
unexport PYTHONHOME PYTHONPATH

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help environment book serve test check notebooks lab mutants constraints clean

help:
	@echo "make book         build the book: every chapter is executed; says where to open it"
	@echo "make serve        serve the built book on this machine (PORT=8000)"
	@echo "make test         every test: lint, unit, chapters, and every page in a real browser"
	@echo "make check        the fast part of the tests, under a minute"
	@echo "make notebooks    execute the chapters' texts (notebooks/src), write the notebooks and the claims ledger"
	@echo "make lab          open the chapters in JupyterLab"
	@echo "make mutants      make every known mistake in a copy of the package; the tests must notice each (long)"
	@echo "make constraints  write the versions of the environment to constraints.txt"
	@echo "make clean        remove the built book and caches; the environment ($(VENV)) stays"
	@echo
	@echo "Settings: PYTHON=python3.12  VENV=/elsewhere/venv  TORCH_ARGS=\"--index-url ...\"  (see tools/setup.sh)"

environment:
	@sh tools/setup.sh

book: environment
	@$(RUN) tools/book.py build

serve: environment
	@$(RUN) tools/book.py serve --port $(PORT)

test: environment
	@$(RUN) tools/suite.py test

check: environment
	@$(RUN) tools/suite.py check

notebooks: environment
	@$(RUN) tools/notebooks.py build
	@$(RUN) tools/ledger.py write

lab: environment
	@$(RUN) -m jupyterlab notebooks

mutants: environment
	@$(RUN) -m tests.mutants

constraints: environment
	@grep '^#' constraints.txt > constraints.new
	@$(RUN) -m pip freeze --exclude-editable | sed 's/+[[:alnum:].]*$$//' >> constraints.new
	@mv constraints.new constraints.txt

clean:
	rm -rf _build .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
