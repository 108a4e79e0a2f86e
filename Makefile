# make run | test | test-all | lint | bench | bench-quality | fuzz | recording. Each makes .venv and installs what it needs first; nothing else is touched.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -qq
CHROMIUM := chromium chromium-browser google-chrome

.DEFAULT_GOAL := help
.PHONY: help run test test-all lint bench bench-quality fuzz recording chromium nginx

help:
	@echo 'make run     everything, then serve on http://127.0.0.1:8000 (HOST and PORT change that); prints a sign-in link'
	@echo 'make test    the tests of every part, in some minutes on two cores; no browser, no PostgreSQL, no agents'
	@echo 'make test-all  all tests; installs Chromium and fetches nginx and the agents first where that needs nobody'
	@echo 'make lint    ruff, mypy, layering rules, the Dockerfile, missing migrations'
	@echo 'make bench   how long the slow things take'
	@echo 'make bench-quality  what compactions keep, by the yardsticks of docs/quality.md'
	@echo 'make fuzz    random calls of the whole API (schemathesis); minutes'
	@echo 'make recording  the recording in README.md and the pictures in docs, anew, from the demo'

# `exec`, so that a signal to the site is not first a signal to a shell; --with-parent, so that it ends with make.
run: $(VENV)/.installed
	@exec $(PY) manage.py up --with-parent

# A test file stays in one process: its fixtures are shared.
PYTEST := $(PY) -m pytest --dist loadfile
test: $(VENV)/.tests-installed
	@$(PYTEST) -n $(shell expr `getconf _NPROCESSORS_ONLN` + 1) -m 'not slow' $(ARGS)

# One more process than above, as many wait for agents.
test-all: $(VENV)/.tests-installed chromium nginx
	@$(PYTEST) -n $(shell expr `getconf _NPROCESSORS_ONLN` + 2) $(ARGS)

lint: $(VENV)/.tests-installed
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports
	@$(VENV)/bin/hadolint Dockerfile
	@data=$$(mktemp -d) && trap 'rm -rf "$$data"' EXIT && \
	  PALIMPSEST_DATA_DIR="$$data" $(PY) manage.py makemigrations --check --dry-run

bench: $(VENV)/.tests-installed
	@$(PY) -m tests.bench

# In a directory of its own: the kit is a plug-in of pytest, too, which `make test` is not to load.
bench-quality: $(VENV)/quality
	@PYTHONPATH=$(VENV)/quality $(PY) -m tests.bench.quality $(ARGS)

fuzz: $(VENV)/.fuzz-installed
	@$(PY) -m tests.fuzz $(EXAMPLES)

recording: $(VENV)/.tests-installed chromium
	@$(PIP) install --target $(VENV)/recording pillow==13.0.0
	@PYTHONPATH=$(VENV)/recording $(PY) -m tests.recording

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo 'Palimpsest needs Python 3.11 or newer as "$(PYTHON)": install it, or name another with make PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo 'No virtual environment could be made: on Debian and Ubuntu, apt-get install python3-venv' >&2; exit 1; }

$(VENV)/.installed: requirements.txt | $(VENV)/bin/python
	@echo 'Installing packages into $(VENV) ...'
	@$(PIP) install -r requirements.txt
	@touch $@

$(VENV)/.tests-installed: requirements.txt tests/requirements.txt | $(VENV)/bin/python
	@echo 'Installing packages for the tests into $(VENV) ...'
	@$(PIP) install -r tests/requirements.txt
	@touch $@ $(VENV)/.installed

$(VENV)/quality: | $(VENV)/.tests-installed
	@$(PIP) install --target $@ compaction-conformance-kit==0.8.0

$(VENV)/.fuzz-installed: $(VENV)/.tests-installed
	@$(PIP) install schemathesis==4.32.5
	@touch $@

chromium:
	@for name in $(CHROMIUM); do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo 'Installing Chromium for the browser tests ...'; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null; \
	else \
	  echo 'The browser tests need Chromium ($(CHROMIUM)): install it, then run make test-all again.' >&2; exit 1; \
	fi

# Taken out of its package: installed, it would start to serve on port 80. Without it one test is skipped, and says so.
nginx: | $(VENV)/bin/python
	@PATH="$$PATH:/usr/sbin:$(VENV)/nginx/usr/sbin"; command -v nginx >/dev/null || ! command -v apt-get >/dev/null || { \
	  echo 'Fetching nginx for the tests ...'; \
	  package=$$(mktemp -d) && trap 'rm -rf "$$package"' EXIT && into="$$PWD/$(VENV)/nginx" && cd "$$package" && \
	  { apt-get download -qq nginx || { apt-get update -qq && apt-get download -qq nginx; }; } >/dev/null 2>&1 && \
	  dpkg -x nginx_*.deb "$$into" && "$$into/usr/sbin/nginx" -v 2>/dev/null || rm -rf "$$into"; }
