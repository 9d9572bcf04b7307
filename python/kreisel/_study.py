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

    for curve in kreisel.study({...}).curves:
        plt.loglog(curve.x, curve.y, label=curve.label)
    """
    if not isinstance(spec, dict):
        spec = json.loads(Path(spec).read_text(encoding="utf-8"))
    return Study(json.loads(_core.study(json.dumps(spec, indent=1), jobs)))
