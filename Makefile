# make run | check | test | test-all | lint | bench | fuzz. Each makes .venv and installs what it needs first; nothing else is touched.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -qq
CHROMIUM := chromium chromium-browser google-chrome

.DEFAULT_GOAL := help
.PHONY: help run check test test-all lint bench fuzz chromium nginx

help:
	@echo 'make run     everything, then serve on http://127.0.0.1:8000 (HOST and PORT change that); prints a sign-in link'
	@echo 'make check   the quick tests: engine, stores, lists, API; about a minute and a half, no browser, no PostgreSQL'
	@echo 'make test    all tests; installs Chromium and fetches nginx first where that needs nobody'
	@echo 'make test-all  those, and more cases of the same: each resume of Claude Code, more kills, the site on PostgreSQL'
	@echo 'make lint    ruff, mypy, layering rules, the Dockerfile, missing migrations'
	@echo 'make bench   how long the slow things take'
	@echo 'make fuzz    random calls of the whole API (schemathesis); minutes'

# `exec`, so that a signal to the site is not first a signal to a shell; --with-parent, so that it ends with make.
run: $(VENV)/.installed
	@exec $(PY) manage.py up --with-parent

# A test file stays in one process: its fixtures are shared. Two more than there are cores, as many wait for agents.
PROCESSES ?= $(shell expr `getconf _NPROCESSORS_ONLN` + 2)
test: $(VENV)/.tests-installed chromium nginx
	@$(PY) -m pytest -n $(PROCESSES) --dist loadfile $(ARGS)

# With the tests marked `thorough`: more moments, kills and schemas of what the others show.
test-all: export PALIMPSEST_TEST_ALL := 1
test-all: test

# The rest needs agents, a browser, PostgreSQL or processes, or waits; SLOW is what takes longest of these directories.
QUICK := compaction store catalog api test_access.py test_settings.py test_bad_requests.py
SLOW := compaction/test_details compaction/test_rules_rounds compaction/test_commands compaction/test_survival \
  compaction/test_real_transcripts store/test_boring store/test_undoing store/test_refusals store/test_search catalog/test_histories \
  catalog/test_keeping catalog/test_postgres
check: $(VENV)/.tests-installed
	@$(PY) -m pytest -n auto --maxprocesses 4 --dist loadfile $(SLOW:%=--ignore=tests/%.py) $(ARGS) $(QUICK:%=tests/%)

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

fuzz: $(VENV)/.fuzz-installed
	@$(PY) -m tests.fuzz $(EXAMPLES)

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

$(VENV)/.fuzz-installed: $(VENV)/.tests-installed
	@$(PIP) install schemathesis==4.32.5
	@touch $@

chromium:
	@for name in $(CHROMIUM); do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo 'Installing Chromium for the browser tests ...'; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null; \
	else \
	  echo 'The browser tests need Chromium ($(CHROMIUM)): install it, then run make test again.' >&2; exit 1; \
	fi

# Taken out of its package: installed, it would start to serve on port 80. Without it one test is skipped, and says so.
nginx: | $(VENV)/bin/python
	@PATH="$$PATH:/usr/sbin:$(VENV)/nginx/usr/sbin"; command -v nginx >/dev/null || ! command -v apt-get >/dev/null || { \
	  echo 'Fetching nginx for the tests ...'; \
	  package=$$(mktemp -d) && trap 'rm -rf "$$package"' EXIT && into="$$PWD/$(VENV)/nginx" && cd "$$package" && \
	  { apt-get download -qq nginx || { apt-get update -qq && apt-get download -qq nginx; }; } >/dev/null 2>&1 && \
	  dpkg -x nginx_*.deb "$$into" && "$$into/usr/sbin/nginx" -v 2>/dev/null || rm -rf "$$into"; }
