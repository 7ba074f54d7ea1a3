#!/usr/bin/env bash
# Builds the documentation site from docs: site/html, which a browser opens from the folder. Broken links fail.
# The first run needs Python 3.10 and a package index; later ones do without the network.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=site/venv
wanted=tools/site/requirements.txt

fail() {
	echo "make site: $1" >&2
	exit 1
}

if ! cmp -s "$wanted" "$venv/requirements.txt"; then
	python=${PEER_PYTHON:-python3}
	"$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
		fail "$python is not there, is older than 3.10, or lacks venv: install python3-venv, or name one in PEER_PYTHON"
	"$python" -m venv --clear "$venv"
	timeout 300 "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 2 -r "$wanted" ||
		fail "pip cannot install $wanted into $venv: it needs a package index, over the network or from a mirror"
	cp "$wanted" "$venv/requirements.txt" # last, so that it tells that all are there
fi
if ! said=$(NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict --config-file tools/site/mkdocs.yml 2>&1); then
	printf '%s\n' "$said" >&2
	exit 1
fi
echo "site/html/index.html"
