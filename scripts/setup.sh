# Sourced by the other scripts: makes a virtual environment beside the checkout's files and installs into it.
# Usage: . scripts/setup.sh EXTRAS
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHON="${PYTHON:-python3}"
VENV="${VENV:-.venv}"
if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "Python 3.11 or newer is needed; name it with PYTHON=python3.12 $0" >&2
    exit 2
fi
if [ ! -x "$VENV/bin/python" ]; then
    "$PYTHON" -m venv "$VENV"
fi
# Installing again takes seconds even when nothing changed: remembered by what it depends on.
stamp="$(cat pyproject.toml constraints.txt | cksum)"
if [ "$(cat "$VENV/.installed-$1" 2>/dev/null)" != "$stamp" ]; then
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$1]"
    echo "$stamp" > "$VENV/.installed-$1"
fi
PATH="$(cd "$VENV/bin" && pwd):$PATH"
export PATH
