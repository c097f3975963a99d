"""Running it: a fork server, a child per submission, outcomes as plain bytes."""
