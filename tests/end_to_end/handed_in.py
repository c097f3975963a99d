"""Submissions of every kind, and what marks the hidden case of their exercise."""

from __future__ import annotations

from support.small import MUTATES, RIGHT, WRONG

LIMITS = {"seconds_per_call": 0.3, "seconds": 20, "memory": "256 MiB", "output": "4 KiB"}
HIDDEN_ID, HIDDEN_TITLE, HIDDEN_HINT = "zq7unseen", "zq7 title unseen", "zq7 hint unseen"
HIDDEN_VALUE = 0.8190169930458069

SUBMISSIONS = {
    "right": RIGHT,
    "wrong": WRONG,
    "mutates": MUTATES,
    "empty": "",
    "blank": " \n\n",
    "syntax": "import numpy as np\ndef row_scale(x, w, factor)\n    return x\n",
    "import_error": "import numpyy\n" + RIGHT,
    "missing": "import numpy as np\n",
    "misnamed": RIGHT.replace("def row_scale", "def rowscale"),
    "no_function": "row_scale = 3\n",
    "parameters": "def row_scale(x): return x\n",
    "returns_none": "def row_scale(x, w, factor): x @ w\n",
    "returns_list": RIGHT.replace("return factor", "return list(factor") + ")",
    "returns_text": "def row_scale(x, w, factor): return 'done'\n",
    "returns_objects": "import numpy as np\ndef row_scale(x, w, factor): return (x @ w).astype(object)\n",
    "returns_generator": "def row_scale(x, w, factor): yield x\n",
    "raises": "def row_scale(x, w, factor):\n    y = x @ w\n    return y[99]\n",
    "endless": "def row_scale(x, w, factor):\n    while True: pass\n",
    "endless_import": "while True: pass\n",
    "exits": "import sys\ndef row_scale(x, w, factor): sys.exit(0)\n",
    "exits_import": "import sys\nsys.exit()\n",
    "segfault": "import ctypes\ndef row_scale(x, w, factor): ctypes.string_at(0)\n",
    "memory": "import numpy as np\ndef row_scale(x, w, factor): return np.ones(10**9)\n",
    "nul": "x = 1\n\0\n",
    "banned": RIGHT.replace("(x @ w)", "np.einsum('nd,dk->nk', x, w)"),
    "leaks": "def row_scale(x, w, factor):\n    print(x.tolist(), w.tolist())\n"
    "    raise ValueError(x.tolist())\n",
}
