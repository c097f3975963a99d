"""Names of JSON documents, as ``schema`` has them; a number rises where a key goes or changes meaning."""

from __future__ import annotations

RESULT = "grader.result/1"
BATCH = "grader.batch/1"
INTAKE = "grader.intake/1"
EXPLANATION = "grader.explanation/1"
VALIDATION = "grader.validation/1"
DEMONSTRATION = "grader.demonstration/1"
