#!/usr/bin/env bash
# Sets up and runs all tests; further arguments go to pytest.
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh" test
exec python -m pytest -n "${TEST_WORKERS:-2}" "$@"
