#!/usr/bin/env bash
# Sets up and runs the main job: the worked submissions graded into reports/mlm_forward.
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh" torch,scipy
exec grader grade submissions/mlm_forward --out reports/mlm_forward "$@"
