"""The notebook version: the statement's text, a cell with the starter, and a cell that checks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.errors import ToolMissingError

CHECK = """\
# This cell is for you alone; it does not run when your work is graded.
if __name__ == "__main__":
    import grader

    display(grader.check({entry}, exercise="{pack}"))
"""
SOLUTION = """\
## Your solution

Write your code in the next cell; you may add cells. Then run all cells: the last one runs the visible checks
on `{entry}` and shows the report. There your code is unconfined and banned helpers are not looked for, so
check the saved notebook as well before you hand it in:

```sh
grader check {name}.ipynb
```
"""


def notebook_text(name: str, entry: str, texts: Sequence[str], starter: str) -> str:
    """The notebook as a file holds it.

    Args:
        name: The exercise.
        entry: The function that is asked for.
        texts: The statement's parts in Markdown.
        starter: The code to start from.

    Raises:
        ToolMissingError: nbformat is not installed.
    """
    try:
        import nbformat
        from nbformat import v4
    except ImportError:
        raise ToolMissingError(
            "the notebook can't be made because the package nbformat is not installed; install it with: "
            'pip install "mlm-grader[notebooks]"'
        ) from None
    told = [*texts, SOLUTION.format(name=name, entry=entry)]
    cells = [v4.new_markdown_cell(text.rstrip("\n")) for text in told]
    check = CHECK.format(entry=entry, pack=f"{name}.pack")
    cells += [v4.new_code_cell(text.rstrip("\n")) for text in (starter, check)]
    for number, cell in enumerate(cells, 1):
        # Those that nbformat makes up differ from run to run.
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata: dict[str, Any] = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.validate(notebook)
    return f"{nbformat.writes(notebook).rstrip()}\n"
