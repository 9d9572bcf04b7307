"""study: errors, orders and costs over a grid of runs."""
import json
from pathlib import Path

import numpy as np

from . import _core


class Curve:
    """One line of a plot: label, x, y and the observed order (None where there is none)."""

    def __init__(self, data):
        self.label, self.order = data.get("name", ""), data.get("order")
        self.x, self.y = (np.array([np.nan if value is None else value for value in data[key]], dtype=float) for key in ("x", "y"))


class Study:
    """plots: title, x_label, y_label and curves; data: everything as in study.json."""

    def __init__(self, data):
        self.data = data
        self.plots = data.get("plots", [])
        self.curves = [Curve(curve) for plot in self.plots for curve in plot.get("curves", [])]


def study(spec, jobs=0):
    """Runs a study: a dict as in docs/studies.md, or the path of such a file.

    >>> import kreisel
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import matplotlib.pyplot as plt
    >>> result = kreisel.study({"model": "pendulum", "method": "bliedf", "order": 3, "step": [0.02, 0.01, 0.005], "t_end": 1,
    ...                         "measures": ["q max"]})
    >>> for curve in result.curves:
    ...     lines = plt.loglog(curve.x, curve.y, label=curve.label)
    >>> round(result.curves[0].order)
    3
    """
    if not isinstance(spec, dict):
        spec = json.loads(Path(spec).read_text(encoding="utf-8"))
    return Study(json.loads(_core.study(json.dumps(spec, indent=1), jobs)))
