#!/usr/bin/env bash
# Sets up and runs the tests but for the slow ones; further arguments go to pytest: -m "" runs them all.
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh" test
exec python -m pytest -n "${TEST_WORKERS:-2}" -m "not slow" "$@"
