"""optimize: the parameters of a run that minimize or maximize a number."""
import concurrent.futures
import json
import os

import numpy as np

from . import _core
from ._ensemble import Progress, _is_loss, _payload, fingerprint, search_work
from ._interrupt import Interrupted, Interruption
from ._study import _described, _text_and_models


class Optimum:
    """variables: the best values by name; value: the number there; success and message; points and values: all evaluations, in their order;
    data: everything as in study.json."""

    def __init__(self, data):
        self.data = data
        summary = data["summary"]
        best = summary["optimum"] or {}
        self.success, self.message = summary["status"] == "success", summary["message"]
        self.variables, self.value = best.get("variables", {}), best.get("value")
        rows = data["tables"][0]["rows"]
        self.points = np.array([row[:-2] for row in rows], dtype=float)
        self.values = np.array([np.nan if row[-2] is None else row[-2] for row in rows], dtype=float)

    def __repr__(self):
        return f"<kreisel.Optimum: {self.value} at {self.variables}, {len(self.values)} evaluations>"


def optimize(spec, *, folder=None, executor=None, jobs=0, progress=None):
    """Searches for the optimum that the spec describes: a study of one run with "variables" and "minimize" or "maximize", see
    docs/ensembles.md; a dict or the path of a file.

    folder    keeps every evaluation, so the same call continues an interrupted search; gets study.csv, study.json and report.html
    executor  evaluates the points of a generation: any executor of concurrent.futures; None: threads, ``jobs`` of them (0: one per core)

    >>> import kreisel
    >>> bowl = {"name": "bowl", "parameters": {"a": 0}, "bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
    ...         "outputs": {"f": "=(a - 0.3)^2"}}
    >>> found = kreisel.optimize({"model": bowl, "step": 0.01, "t_end": 0.02, "measures": ["output.f end"], "minimize": "output.f end",
    ...                           "variables": {"a": {"from": -1, "to": 1}}})
    >>> round(found.variables["a"], 4)
    0.3
    """
    text, models = _text_and_models(spec)
    folder = os.fspath(folder) if folder is not None else ""
    own_text = fingerprint({name: _described(spec, name) for name in models})
    own = concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count() or 1) if executor is None else None
    with Interruption() as interruption:
        search = _core.Search(text, models, own_text, folder, False, interruption.was_asked)
        payload = _payload(spec, own_text, "") if own is None else None
        shown = Progress(progress, search.most(), 0)
        try:
            while not interruption.was_asked():
                points = search.ask()
                if not points:
                    break
                if own is not None:
                    futures = [own.submit(search.evaluate, point) for point in points]
                else:
                    futures = [executor.submit(search_work, payload, point) for point in points]
                try:
                    lines = [future.result() for future in futures]
                except BaseException as error:  # noqa: B902 - finished evaluations are kept
                    done = [f for f in futures if f.done() and not f.cancelled() and f.exception() is None]
                    search.tell([line for line in (future.result() for future in done) if line])
                    if _is_loss(error):
                        raise RuntimeError("a worker died; to continue, repeat the call with a new executor") from error
                    raise
                search.tell([line for line in lines if line])
                shown.show(search.done(), 0)
        finally:
            shown.end()
            if own is not None:
                own.shutdown()
        result = Optimum(json.loads(search.finish("kreisel.optimize")))
    if interruption.was_asked():
        raise Interrupted(f"search was interrupted after {len(result.values)} evaluations", result)
    return result
