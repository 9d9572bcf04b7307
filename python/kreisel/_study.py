"""study: errors, orders and costs over a grid of runs."""
import csv
import itertools
import json
import os
import warnings
from pathlib import Path

import numpy as np

from . import _core
from ._ensemble import Driver, ExecutorBroken, Progress, _payload, fingerprint
from ._interrupt import Interrupted, Interruption
from ._model import Model, System, handle, text_of


class Curve:
    """One line of a plot: label, x, y and the observed order (None where there is none)."""

    def __init__(self, data):
        self.label, self.order = data.get("name", ""), data.get("order")
        self.x, self.y = (np.array([np.nan if value is None else value for value in data[key]], dtype=float) for key in ("x", "y"))


class Study:
    """curves: what was measured, as arrays; plots: the same with title, x_label and y_label; rows: one dict per run; status: "success",
    "failed" when no run succeeded, "interrupted", or "passed" and "missed" when the study has expectations; statistics: of a sample;
    data: everything as in study.json. Printed, it is the table of orders. A study of more than 10,000 runs has no rows; columns()
    reads them from its folder."""

    def __init__(self, data, folder=""):
        self.data, self.folder = data, folder
        self.status = data["summary"]["status"]
        self.rows = data.get("rows", [])
        self.plots = data.get("plots", [])
        self.curves = [Curve(curve) for plot in self.plots for curve in plot.get("curves", [])]

    def __len__(self):
        return self.data["summary"]["cases"]

    @property
    def statistics(self):
        """A dict per measure by its name: mean, deviation, minimum, maximum, quantiles, count."""
        return {one["name"]: one for one in (self.data.get("statistics") or {}).get("numbers", [])}

    def columns(self):
        """study.csv of the folder: a dict of arrays, of numbers where all cells are."""
        if not self.folder:
            raise ValueError("the study has no folder; give kreisel.study(..., folder=...)")
        with open(Path(self.folder) / "study.csv", newline="", encoding="utf-8") as file:
            lines = csv.reader(file)
            names = next(lines)
            cells = list(zip(*lines))

        def array(column):
            try:
                return np.array([float(cell) if cell else np.nan for cell in column])
            except ValueError:
                return np.array(column)
        return {name: array(column) for name, column in zip(names, cells)}

    def __repr__(self):
        return f"<kreisel.Study: {self.status}, {len(self)} runs, {len(self.curves)} curves>"

    def __str__(self):
        """The table of orders, and what became of the expectations."""
        found = {(one["measure"], one["label"]): one["order"] for one in self.data.get("orders") or []}
        width = max((len(label) for _, label in found), default=0)
        lines, last = [], None
        for (measure, label), order in found.items():
            if measure != last:
                lines.append(measure)
            last = measure
            lines.append(f"  {label:<{width}}  " + ("no order" if order is None else f"order {order:.2f}"))
        for one in self.data.get("verdicts") or []:
            why = one.get("explanation") or one.get("note")
            lines.append(f"{one['outcome']}: {one['quantity']}: {one['measured']} (expected {one['expected']})" + (f"; {why}" if why else ""))
        return "\n".join([repr(self), *lines])


def study(spec, jobs=0, *, folder=None, executor=None, retry=None, cache=None, progress=None, reference=None, accuracy=0.0):
    """Runs a study: a dict as in docs/studies.md or the path of such a file.

    A model may also be a Model, its dict, or a System; curves are named after it. Failed runs are rows with their status and message, and cause one warning.
    folder    keeps every row as soon as it is computed, and gets study.csv, study.json and report.html: the same call, or
              ``kreisel study``, continues where an interrupted one stopped
    executor  runs the cases: any executor of concurrent.futures (ProcessPoolExecutor, ``Client.get_executor()`` of Dask, MPIPoolExecutor of
              mpi4py), or a function that makes one, also to replace a broken one; None: threads, ``jobs`` of them (0: one per core)
    retry     "failed": run failed cases again
    cache     folder of exact solutions, which workers on other machines share
    progress  None: shown on terminals and in notebooks after one second; True: always; False: never

    Ctrl-C ends the study and raises Interrupted, a KeyboardInterrupt whose ``result`` holds the finished runs.

    reference: an exact motion to use instead of a computed one: a function of t that returns (q, v, lam), or the path of a
    CSV with columns t, q1, ..., v1, ..., lambda1, ... and rows at the times of the runs; accuracy: that of the reference; smaller errors
    are marked.

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
    if reference is not None and executor is not None:
        raise ValueError("reference and executor exclude each other: workers cannot call a function of this process; leave one of them out")
    told = [] if reference is None else [Path(reference).read_bytes().hex() if _is_path(reference) and Path(reference).is_file() else reference, accuracy]
    if _is_path(reference):
        reference = _table(reference)
    elif reference is not None and not callable(reference):
        raise ValueError(f"reference is {reference!r:.80}, expected a function of t or the path of a trajectory")
    if retry not in (None, "failed"):
        raise ValueError(f"retry is {retry!r:.80}, expected None or 'failed'")
    text, models, place = _text_and_models(spec)
    folder, cache = (os.fspath(path) if path is not None else "" for path in (folder, cache))
    own_text = ""
    if folder or executor is not None:
        own_text = fingerprint({**{name: _described(spec, name) for name in models}, **({"reference": told} if told else {})})
    with Interruption() as interruption:
        campaign = _core.Campaign(text, place, models, own_text, folder, jobs, retry == "failed", cache, False, interruption.was_asked, reference, float(accuracy))
        done, _ = campaign.tally()
        shown = Progress(progress, campaign.size(), done)
        try:
            if executor is None:
                campaign.run_all(lambda: shown.show(*campaign.tally()))
            else:
                campaign.make_references()
                Driver(executor, _payload(spec, place, own_text, cache), campaign, interruption.was_asked, shown.show).run()
        except ExecutorBroken as error:
            error.result = Study(json.loads(campaign.finish("kreisel.study")), folder)
            raise
        finally:
            shown.end()
        result = Study(json.loads(campaign.finish("kreisel.study")), folder)
    if interruption.was_asked():
        raise Interrupted(f"study was interrupted after {result.data['summary']['done']} of {len(result)} runs", result)
    failed = [row for row in result.rows if row["status"] not in ("success", "not-run")]
    if failed:
        first = failed[0]
        warnings.warn(f"{len(failed)} of {len(result.rows)} runs did not succeed; the first: {first['label']} {first['coordinates']}: "
                      f"{first['status']}: {first['message']}", stacklevel=2)
    elif not result.rows and result.data["summary"]["failed"]:  # rows of large studies are in study.csv only
        warnings.warn(f"{result.data['summary']['failed']} of {len(result)} runs did not succeed: {result.data['summary']['failures']}", stacklevel=2)
    return result


def _table(path):
    """A CSV with columns t, q1, q2, ..., v1, ..., lambda1, ... as a function of its times; it does not interpolate."""
    try:
        with open(path, encoding="utf-8") as file:
            names = [name.strip() for name in file.readline().split(",")]
            values = np.loadtxt(file, delimiter=",", ndmin=2)
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read the reference '{path}': {error}") from None
    if names[0] != "t" or len(names) != values.shape[1] or not len(values):
        raise ValueError(f"the reference '{path}' has columns {', '.join(names)[:80]}, expected t, q1, ..., v1, ..., lambda1, ...")
    columns = [[i for i, name in enumerate(names) if name[:len(letter)] == letter and name[len(letter):].isdigit()] for letter in ("q", "v", "lambda")]
    times = values[:, 0]
    span = max(1e-300, float(times[-1] - times[0]))

    def at(t):
        i = int(np.argmin(np.abs(times - t)))
        if abs(times[i] - t) > 1e-9 * span:
            raise ValueError(f"the reference '{path}' has no row at t = {t:g}; the nearest is {times[i]:g}")
        return tuple(values[i, part] for part in columns)
    return at


def _is_path(thing):
    return isinstance(thing, str) or hasattr(thing, "__fspath__")


def _text_and_models(spec, place=None):
    """The text of a study, its models from Python by name, as _core takes them, and the folder where files that it names are looked for:
    that of the study; of a dict the current one, or ``place``."""
    models = {}
    if isinstance(spec, dict):
        return text_of("study", _with_names(spec, models), indent=1), models, place or os.getcwd()
    if not isinstance(spec, str) and not hasattr(spec, "__fspath__"):
        raise ValueError(f"spec is {spec!r:.80}, expected a dict or the path of a study file")
    try:
        return Path(spec).read_text(encoding="utf-8"), models, os.path.dirname(os.path.abspath(spec))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read the study '{spec}': {error}") from None


def _described(spec, name):
    """What distinguishes models from Python with the same name."""
    def models_in(value):
        if isinstance(value, dict) and "bodies" not in value:
            return [model for part in value.values() for model in models_in(part)]
        if isinstance(value, (list, tuple)):
            return [model for part in value for model in models_in(part)]
        return [] if value is None or isinstance(value, (str, int, float)) else [value]
    return [name, *models_in([spec.get("model"), spec.get("runs")] if isinstance(spec, dict) else [])]


def _with_names(spec, models):
    """The study with names in place of models, which `models` then holds as _core takes them."""
    def listed(value):
        return list(value) if isinstance(value, (list, tuple)) else [value]

    parts = [spec, *(run for run in listed(spec.get("runs")) if isinstance(run, dict))]
    others = [model for part in parts for model in listed(part.get("model")) if isinstance(model, str)]

    def name_of(model, assembles):
        if isinstance(model, (list, tuple)):
            return [name_of(one, assembles) for one in model]
        if isinstance(model, dict) and "bodies" in model:
            model = Model.from_dict(model)
        if not isinstance(model, (Model, System)):
            return model
        wanted = str(model._parts.get("name", "system") if isinstance(model, System) else model.to_dict().get("name", "mechanism"))
        numbered = (f"{wanted} {i}" for i in itertools.count(2))
        name = next(name for name in itertools.chain([wanted], numbered) if name not in models and name not in others)
        models[name] = handle(model, assembles)
        return name

    def named(part, assembles):
        assembles = bool(part.get("assemble", assembles))
        out = {**part, "model": name_of(part["model"], assembles)} if "model" in part else dict(part)
        if isinstance(part.get("runs"), (list, tuple)):
            out["runs"] = [named(run, assembles) if isinstance(run, dict) else run for run in part["runs"]]
        return out

    return named(spec, False)
