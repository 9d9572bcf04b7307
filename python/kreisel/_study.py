"""study: errors, orders and costs over a grid of runs."""
import json
import tempfile
from pathlib import Path

import numpy as np

from . import _core
from ._interrupt import Interruption
from ._model import Model, text_of


class Curve:
    """One line of a plot: label, x, y and the observed order (None where there is none)."""

    def __init__(self, data):
        self.label, self.order = data.get("name", ""), data.get("order")
        self.x, self.y = (np.array([np.nan if value is None else value for value in data[key]], dtype=float) for key in ("x", "y"))


class Study:
    """curves: what was measured, as arrays; plots: the same with title, x_label and y_label; rows: one dict per run; status: "success",
    "interrupted", or "passed" and "missed" when the study says what it expects; data: everything as in study.json."""

    def __init__(self, data):
        self.data = data
        self.status = data["summary"]["status"]
        self.rows = data.get("rows", [])
        self.plots = data.get("plots", [])
        self.curves = [Curve(curve) for plot in self.plots for curve in plot.get("curves", [])]

    def __repr__(self):
        return f"<kreisel.Study: {self.status}, {len(self.rows)} runs, {len(self.curves)} curves>"


def study(spec, jobs=0):
    """Runs a study: a dict as in docs/studies.md or the path of such a file.

    The model may also be a Model, or its dict. Ctrl-C ends the study and returns the runs that are finished, with status "interrupted".

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
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(spec, dict):
            model = spec.get("model")
            if isinstance(model, dict) and "bodies" in model:
                model = Model.from_dict(model)
            if isinstance(model, Model):
                spec = {**spec, "model": f"{folder}/model.json"}
                model.save(spec["model"])
            text = text_of("study", spec, indent=1)
        elif isinstance(spec, str) or hasattr(spec, "__fspath__"):
            try:
                text = Path(spec).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ValueError(f"cannot read the study '{spec}': {error}") from None
        else:
            raise ValueError(f"spec is {spec!r:.80}, expected a dict or the path of a study file")
        with Interruption() as interruption:
            return Study(json.loads(_core.study(text, jobs, interruption.was_asked)))
