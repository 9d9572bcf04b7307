"""read: a result folder of ``kreisel run``."""
import json
from pathlib import Path

import numpy as np

from . import _core
from ._solve import frame_of, index_of


class Stored:
    """A result read back: every column by name, result["top.z"], vectors by theirs, result["foot"], and as in a Result t, lam, energy, h, order, x, R, reaction.

    summary   the content of summary.json; columns: names of the columns
    status, message, success, bodies, joints
    """

    def __init__(self, summary, columns, values):
        self.summary, self.columns, self._values = summary, columns, np.asarray(values)
        self._place = {name: i for i, name in enumerate(columns)}
        self.status, self.message = summary.get("status"), summary.get("message", "")
        self.success = self.status == "success"
        self.t, self.h, self.order = self["t"], self["h"], self["order"].astype(int)
        self.energy = self["energy"] if "energy" in self._place else np.full(len(self.t), np.nan)
        self.lam = self._numbered("lambda")
        self.bodies = [name[:-4] for name in columns if name.endswith(".R11")]
        self.joints = [name[:-3] for name in columns if name.endswith(".Fx")]

    def __getitem__(self, column):
        if column not in self._place:
            base, rate = (column[:-1], "'") if column.endswith("'") else (column, "")
            parts = [f"{base}.{axis}{rate}" for axis in "xyz"]
            if all(part in self._place for part in parts):
                return self._stack(parts)
            raise KeyError(f"no column '{column}'; known: {', '.join(self.columns)}")
        return self._values[:, self._place[column]]

    def _stack(self, names):
        return np.stack([self[name] for name in names], axis=1)

    def _numbered(self, letter):
        names = [name for name in self.columns if name[:len(letter)] == letter and name[len(letter):].isdigit()]
        return self._stack(names) if names else np.empty((len(self.t), 0))

    def x(self, body=0):
        """Positions of the centre of mass, shape (points, 3); body by name or number."""
        name = self.bodies[index_of("body", body, self.bodies)]
        return self._stack([f"{name}.{axis}" for axis in "xyz"])

    def R(self, body=0):
        """Rotation matrices, shape (points, 3, 3)."""
        name = self.bodies[index_of("body", body, self.bodies)]
        return self._stack([f"{name}.R{i}{j}" for i in "123" for j in "123"]).reshape(-1, 3, 3)

    def to_pandas(self):
        """A pandas.DataFrame of all columns over t."""
        return frame_of(self.t, {name: self[name] for name in self.columns if name != "t"})

    def reaction(self, joint=0):
        """(force, torque) that a joint exerts on its second body, inertial axes, shape (points, 3) each."""
        name = self.joints[index_of("joint", joint, self.joints)]
        return self._stack([f"{name}.F{axis}" for axis in "xyz"]), self._stack([f"{name}.T{axis}" for axis in "xyz"])

    def __repr__(self):
        return f"<kreisel.Stored: {self.summary.get('model')}, {self.status}, {len(self.t)} points>"


def read(folder):
    """Reads summary.json and the trajectory, CSV or HDF5, also of a run that was killed.

    >>> import kreisel, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kreisel.solve("heavy-top", 0.1, step=1e-3).save(folder)    # or: kreisel run heavy-top --out FOLDER
    ...     stored = kreisel.read(folder)
    >>> stored.summary["model"], stored.status
    ('heavy-top', 'success')
    >>> stored["top.z"].shape, stored.x("top").shape
    ((101,), (101, 3))
    """
    if not isinstance(folder, str) and not hasattr(folder, "__fspath__"):
        raise ValueError(f"folder is {folder!r:.80}, expected the path of a result folder")
    folder = Path(folder)
    summary = folder / "summary.json"
    if not summary.is_file():
        raise ValueError(f"'{folder}' holds no summary.json: it is not a result folder")
    for name in ("trajectory.csv", "trajectory.h5", "trajectory.csv.part", "trajectory.h5.part"):
        if (folder / name).is_file():
            columns, values = _core.read_trajectory(str(folder / name))
            return Stored(json.loads(summary.read_text(encoding="utf-8")), columns, values)
    raise ValueError(f"'{folder}' holds no trajectory")
