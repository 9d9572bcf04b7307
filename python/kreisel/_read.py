"""read: a result folder of ``kreisel run``."""
import json
from pathlib import Path

import numpy as np

from . import _core


class Stored:
    """A result read back: ``summary`` (a dict), ``columns``, ``t``, and every column by name: result["top.z"]."""

    def __init__(self, summary, columns, values):
        self.summary, self.columns, self._values = summary, columns, np.asarray(values)
        self.t = self["t"]
        self.status = summary.get("status")

    def __getitem__(self, column):
        if column not in self.columns:
            raise KeyError(f"no column '{column}'; known: {', '.join(self.columns)}")
        return self._values[:, self.columns.index(column)]


def read(folder):
    """Reads summary.json and the trajectory, CSV or HDF5, also of a run that was killed.

    >>> import kreisel, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kreisel.solve("heavy-top", 0.1, step=1e-3).save(folder)    # or: kreisel run heavy-top --out FOLDER
    ...     stored = kreisel.read(folder)
    >>> stored.summary["model"], stored.status
    ('heavy-top', 'success')
    >>> stored["top.z"].shape
    (101,)
    """
    folder = Path(folder)
    summary = folder / "summary.json"
    if not summary.is_file():
        raise ValueError(f"'{folder}' holds no summary.json: it is not a result folder")
    for name in ("trajectory.csv", "trajectory.h5", "trajectory.csv.part", "trajectory.h5.part"):
        if (folder / name).is_file():
            columns, values = _core.read_trajectory(str(folder / name))
            return Stored(json.loads(summary.read_text(encoding="utf-8")), columns, values)
    raise ValueError(f"'{folder}' holds no trajectory")
