"""Time limits that follow the reference, in words."""

from __future__ import annotations

from grader.validation import TimeLimit, TimeLimits


def time_lines(limits: TimeLimits) -> list[str]:
    """A line on the longest call, and one on all calls together."""
    return [
        f"Time limit here of the longest call, in {limits.call.case}: {_limit(limits.call)}",
        f"Time limit here of all calls together: {_limit(limits.in_all)}",
        f"A workload takes {limits.workload_s:.2g} s of processor time here",
    ]


def _limit(limit: TimeLimit) -> str:
    frozen = f"{limit.workloads:.4g} workloads"
    why = f"{limit.times:g} times {frozen}" if limit.times else f"as stated ({frozen} are frozen)"
    return f"{limit.allowed_s:.4g} s, {why}; the reference takes {limit.needed_s:.2g} s"
