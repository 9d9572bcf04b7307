"""Models: mechanisms assembled in Python, and systems given by functions."""
import json

from . import _core


class Model:
    """A mechanism of bodies, joints and forces; what a model file says, said in Python.

    Every method returns the model, so that calls can be chained; keywords are those of the model file.

    >>> import kreisel
    >>> rod = (kreisel.Model("rod", gravity=[0, 0, -9.81])
    ...        .body("rod", mass=1.0, inertia=[1e-4, 0.0834, 0.0834], position=[0.5, 0, 0])
    ...        .joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[0, 1, 0]))
    >>> kreisel.solve(rod, 1.0).success
    True
    """

    def __init__(self, name="mechanism", **settings):
        self._data = {"name": name, **settings, "bodies": [], "joints": [], "forces": []}

    @classmethod
    def from_dict(cls, data):
        """The content of a model file as a dict."""
        model = cls()
        model._data = dict(data)
        return model

    def body(self, name, **properties):
        self._data.setdefault("bodies", []).append({"name": name, **properties})
        return self

    def joint(self, name, type, **properties):
        self._data.setdefault("joints", []).append({"name": name, "type": type, **properties})
        return self

    def force(self, name, type, **properties):
        self._data.setdefault("forces", []).append({"name": name, "type": type, **properties})
        return self

    def to_dict(self):
        return {key: value for key, value in self._data.items() if value != []}

    def save(self, path):
        """Writes a model file, which ``kreisel run`` reads too."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.to_dict(), file, indent=2, default=_plain)

    def _info(self):
        return _core.model_from_json("model", json.dumps(self.to_dict(), indent=1, default=_plain))


class System:
    """Your own equations M(q) v' + g(t,q,v) + B^T lam = 0, phi(t,q) = 0 on a product of groups.

    space        list of factors: ("rn", n), "so3", "r3xso3" or "se3"; rotations are quaternions (x, y, z, w) in q
    mass         mass(q), shape (nv, nv)
    force        force(t, q, v), shape (nv,)
    constraint   constraint(t, q), shape (constraints,); give ``constraints``, their number
    q0, v0       start; v0 defaults to rest

    Optional: jacobian(t, q) = B, curvature(t, q, v), constraint_rate(t, q), energy(t, q, v), velocity_constraint(t, q, v) with
    ``velocity_constraints``, multiplier_force(t, q, v, lam). Derivatives that are not given are computed by differences.

    >>> import numpy as np, kreisel
    >>> pendulum = kreisel.System(space=[("rn", 2)], mass=lambda q: np.eye(2), force=lambda t, q, v: [0, 9.81],
    ...                           constraint=lambda t, q: [(q @ q - 1) / 2], constraints=1, q0=[1, 0])
    >>> result = kreisel.solve(pendulum, 1.0)
    >>> bool(abs(np.hypot(*result.q[-1]) - 1) < 1e-8)
    True
    """

    def __init__(self, **parts):
        self._parts = parts

    def _info(self):
        return _core.model_from_functions(self._parts)


def handle(model):
    """What _core takes: a name, a path, or the object made from it."""
    if isinstance(model, (Model, System)):
        return model._info()
    if isinstance(model, dict):
        return Model.from_dict(model)._info()
    if isinstance(model, str) or hasattr(model, "__fspath__"):
        return str(model)
    raise ValueError(f"model is {model!r:.80}, expected a name, the path of a model file, a dict, kreisel.Model or kreisel.System")


def _plain(value):
    """Arrays and numbers of numpy."""
    return value.tolist()
