#!/usr/bin/env bash
# Prepares a Gradescope image: a Python that is new enough, and the packages of requirements.txt.
# The grader itself lies beside this file, in grader/, and is not installed.
set -euo pipefail
root="${AUTOGRADER_ROOT:-/autograder}"
cd "$root/source"

python=""
for name in python3.12 python3.11 python3.13 python3; do
    if "$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python="$name"
        break
    fi
done
if [ -z "$python" ]; then
    apt-get update
    for version in 3.12 3.11 3.13; do
        if apt-get install -y --no-install-recommends "python$version" "python$version-venv"; then
            python="python$version"
            break
        fi
    done
fi
if [ -z "$python" ]; then
    echo "no Python 3.11 or newer is to be had here: choose a newer base image (Ubuntu 22.04 or later)" >&2
    exit 1
fi

"$python" -m venv "$root/venv"
"$root/venv/bin/python" -m pip install --no-cache-dir -r requirements.txt
# Every run starts in a fresh container, so what is compiled once here saves time in each of them.
"$root/venv/bin/python" -m compileall -q grader
