#!/usr/bin/env bash
# Installs the grader into an environment of its own, $RUNNER_TEMP/grader: from the checkout that this file is
# part of with the extras in EXTRAS, or what INSTALL names as pip takes it.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
venv="$RUNNER_TEMP/grader"
python -m venv "$venv"
# Split at blanks and ends of lines, and nothing else: no patterns, no quotes, no substitutions.
read -r -d '' -a words <<< "${INSTALL:-}" || true
if [ "${#words[@]}" -eq 0 ]; then
    words=(-c "$here/constraints.txt" "$here${EXTRAS:+[$EXTRAS]}")
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${words[@]}"
