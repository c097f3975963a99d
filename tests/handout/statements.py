"""A statement with all that its page treats in a way of its own, and the facts and requirements beside it."""

from __future__ import annotations

from typing import Any

from grader.handout.page import Requirement, page_of
from grader.handout.statement import read_statement

FACTS: dict[str, Any] = {
    "files": ["e.py", "e.ipynb"],
    "commands": ["grader check e.py"],
    "readme": "README.txt",
    "hidden": True,
}
REQUIREMENTS = [
    Requirement("mean", "Mean", "Summed and divided."),
    Requirement("inputs", "Inputs <b>", "Kept."),
]
PATTERN = """\
```pattern
title: Causal <mask>
asked: no
rows: query
columns: key
x: attends
.: does "not"
note: Nothing later & nothing else.

  a b&
0 x .
<1> x x
```
"""
TEXT = f"""\
# Means & more

Intro with `code`.

## What to write

| a | b |
|--:|:-:|
| 1 | `mean` |

### mean

See [inputs](#inputs-1) and [the web](https://example.org/?a=1&b=2).

{PATTERN}
{PATTERN.replace("asked: no", "asked: yes").replace("Causal <mask>", "Both")}
## Inputs

```python
print("a line of code that is too long for a small screen", 1 < 2)
```

## Inputs
"""


def page(text: str, requirements: list[Requirement] = REQUIREMENTS) -> str:
    statement = read_statement(text.encode("utf-8", "replace"), "s.md")
    return page_of(statement, requirements, FACTS)
