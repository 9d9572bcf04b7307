"""Models: mechanisms assembled in Python, and systems given by functions."""
import copy
import json

from . import _core


class Law:
    """A function of Python where a model takes a formula: the value of a torque or force, the rate of a state, an output, an event.

    function    function(t, y): y is a dict of what it uses, y["knee"], y["knee'"]; returns a number
    uses        names of outputs, states and inputs, as formulas write them; None: those that it looks up in one trial call
    derivative  derivative(t, y): the derivatives by the entries of ``uses``, in this order; None: by differences

    It must depend only on its arguments: it is called several times per step, also at trial points.

    >>> import kreisel
    >>> kreisel.Law(lambda t, y: -20 * y["knee"] - 2 * y["knee'"])
    Law(<lambda>, uses=['knee', "knee'"])
    """

    def __init__(self, function, uses=None, derivative=None):
        for what, given in (("function", function), ("derivative", derivative)):
            if not callable(given) and not (what == "derivative" and given is None):
                raise ValueError(f"{what} of a law is {given!r:.80}, expected a function of (t, y)")
        if isinstance(uses, str) or (uses is not None and not all(isinstance(name, str) for name in uses)):
            raise ValueError(f"uses is {uses!r:.80}, expected a list of names such as ['knee', \"knee'\"]")
        self.function, self.derivative = function, derivative
        self.uses = _asked_by(function) if uses is None else list(uses)

    def __repr__(self):
        return f"Law({self.name}, uses={self.uses})"

    @property
    def name(self):
        """Of the function."""
        return getattr(self.function, "__name__", str(self.function))


def _asked_by(function):
    """The names that a law looks up in a trial call."""
    class Asked(dict):
        def __missing__(self, name):
            self[name] = 1.0
            return 1.0
    asked = Asked()
    try:
        function(0.0, asked)
    except Exception as error:
        raise ValueError(f"the names that the law uses cannot be determined: called with t = 0 and ones it raised {type(error).__name__}: {error}; "
                         "give uses=[...]") from error
    return list(asked)


class Model:
    """A mechanism of bodies, joints, drivers and forces: the content of a model file, built in Python.

    Every method returns the model, so that calls can be chained; keywords are those of the model file.

    >>> import kreisel
    >>> rod = (kreisel.Model("rod", gravity=[0, 0, -9.81])
    ...        .body("rod", mass=1.0, inertia=[1e-4, 0.0834, 0.0834], position=[0.5, 0, 0])
    ...        .joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[0, 1, 0]))
    >>> rod
    <kreisel.Model 'rod': 1 bodies, 1 joints, 0 drivers, 0 forces>
    >>> kreisel.solve(rod, 1.0).success
    True
    """

    def __init__(self, name="mechanism", **settings):
        self._data = {"name": name, **settings}

    @classmethod
    def from_dict(cls, data):
        """A model from the content of a model file as a dict, which is copied."""
        model = cls()
        model._data = copy.deepcopy(data)
        return model

    def parameter(self, name, value, **properties):
        """A number that formulas of the model may use: "=2*L". min, max, unit, meaning

        value may be a formula of other parameters. ``solve(model, parameters={name: value})`` overrides it.

        >>> import kreisel
        >>> rod = (kreisel.Model("rod", gravity=[0, 0, -9.81]).parameter("L", 0.5, unit="m").parameter("m", "=2*L")
        ...        .body("rod", mass="=m", inertia=["=m*L^2/12", 1e-4, "=m*L^2/12"], position=[0, "=L/2", 0])
        ...        .joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[1, 0, 0]))
        >>> bool(abs(kreisel.solve(rod, 1.0, parameters={"L": 2}).x("rod")[0, 1] - 1) < 1e-15)
        True
        """
        self._data.setdefault("parameters", {})[name] = {"value": value, **properties} if properties else value
        return self

    def body(self, name, **properties):
        """mass, inertia, position, rotation, velocity, angular_velocity, group, shape"""
        return self._add("bodies", {"name": name, **properties})

    def material(self, name, **properties):
        """Of sections: young, poisson, density, damping_time, or damping_ratio with at_frequency"""
        return self._add("materials", {"name": name, **properties})

    def section(self, name, **properties):
        """Of rods: material with circle={"radius": r} or rectangle=[y, z]; or stiffness, mass_per_length, inertia_per_length"""
        return self._add("sections", {"name": name, **properties})

    def rod(self, name, **properties):
        """A flexible body: section, path={"line": [from, to]}, elements, shear, axial, reference, tension, report, ...

        Joints, forces and outputs attach to it at "rod@start", "rod@end", "rod@0.3" or "rod@1.2m".

        >>> import kreisel
        >>> arm = (kreisel.Model("arm", gravity=[0, 0, -9.81])
        ...        .material("steel", young=210e9, density=7800)
        ...        .section("wire", material="steel", circle={"radius": 0.001})
        ...        .rod("rod", section="wire", path={"line": [[0, 0, 0], [0.3, 0, 0]]}, elements=4)
        ...        .joint("clamp", "fixed", between=["ground", "rod@start"])
        ...        .output("tip", position="rod@end"))
        >>> sag = kreisel.solve(arm, 1e-3, start="static")["tip"][0, 2]   # 8 EI z = -q L^4, q = 0.2404 N/m, EI = 0.16493 N m^2
        >>> bool(abs(sag + 0.2404 * 0.3**4 / (8 * 0.16493)) < 1e-5)
        True
        """
        return self._add("rods", {"name": name, **properties})

    def joint(self, name, type, **properties):
        """type: "spherical", "revolute", "prismatic", ...; between=[body, body], at, axis"""
        return self._add("joints", {"name": name, "type": type, **properties})

    def driver(self, name, type, **properties):
        """type: "angle", "position" or "distance"; value: a number or a formula in t

        >>> import kreisel
        >>> crank = (kreisel.Model("crank")
        ...          .body("crank", mass=1.0, inertia=[1e-4, 0.0834, 0.0834], position=[0.5, 0, 0])
        ...          .joint("pin", "revolute", between=["ground", "crank"], at=[0, 0, 0], axis=[0, 1, 0])
        ...          .driver("motor", "angle", between=["ground", "crank"], axis=[0, 1, 0], value="t^2"))
        >>> turned = kreisel.solve(crank, 1.0)
        >>> round(turned.v[-1, 4], 6)
        2.0
        """
        return self._add("drivers", {"name": name, "type": type, **properties})

    def force(self, name, type, **properties):
        """type: "spring-damper", "applied", "bushing", ...; a ``Law`` is accepted wherever a formula is"""
        return self._add("forces", {"name": name, "type": type, **properties})

    def torque(self, joint, value, uses=None, derivative=None, name=None, type="torque", **properties):
        """A torque along the angle of a joint, or with type="force" a force along its displacement: a number, a formula or a function

        A function gets t and a dict of the values it uses, see ``Law``:

        >>> import kreisel
        >>> rod = (kreisel.Model("rod", gravity=[0, 0, -9.81])
        ...        .body("rod", mass=1.0, inertia=[0.0834, 1e-4, 0.0834], position=[0, 0.5, 0])
        ...        .joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[1, 0, 0])
        ...        .output("swing", angle="pin")
        ...        .torque("pin", lambda t, y: -20 * (y["swing"] + 0.3) - 2 * y["swing'"], uses=["swing", "swing'"]))
        >>> bool(abs(kreisel.solve(rod, 10)["swing"][-1] + 0.5137) < 1e-3)
        True
        """
        number = sum(force.get("name", "").startswith(f"{joint}_{type}") for force in self._data.get("forces", [])) + 1
        name = name or f"{joint}_{type}" + (f"{number}" if number > 1 else "")
        return self.force(name, type, joint=joint, value=_law(value, uses, derivative), **properties)

    def event(self, name, when, direction="either", action="record", uses=None, **properties):
        """A zero of a formula or of a function of t and outputs, see ``Law``, and what happens there

        direction "rising", "falling" or "either"; action "record", "stop", {"impact": {"restitution": e}} or {"switch": {"off": [...]}}

        >>> import kreisel
        >>> ball = (kreisel.Model("ball", gravity=[0, 0, -9.81]).body("ball", mass=1.0, inertia=[1, 1, 1], position=[0, 0, 1])
        ...         .output("ball_at", position="ball")
        ...         .event("landed", lambda t, y: y["ball_at.z"], direction="falling", action="stop"))
        >>> round(kreisel.solve(ball, 1, rtol=1e-9).t[-1], 6)
        0.451524
        """
        return self._add("events", {"name": name, "when": _law(when, uses, None), "direction": direction, "action": action, **properties})

    def output(self, name, formula=None, uses=None, **properties):
        """A quantity that results report and laws may use: angle="hinge", position="foot", at=[...], power="spring", or a formula or function of other outputs

        >>> import kreisel
        >>> rod = (kreisel.Model("rod", gravity=[0, 0, -9.81])
        ...        .body("rod", mass=1.0, inertia=[0.0834, 1e-4, 0.0834], position=[0, 0.5, 0])
        ...        .joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[1, 0, 0])
        ...        .output("swing", angle="pin").output("power", "=hold*swing'", unit="W")
        ...        .force("hold", "torque", joint="pin", value="=-20*(swing + 0.3) - 2*swing'"))
        >>> result = kreisel.solve(rod, 1.0)
        >>> result["swing"].shape == result.t.shape
        True
        """
        if formula is not None:
            properties = {"formula": _law(formula, uses, None), **properties}
        self._data.setdefault("outputs", {})[name] = properties
        return self

    def state(self, name, rate, initial=0, uses=None, derivative=None, **properties):
        """An unknown of first order; rate is a formula or a function of outputs, inputs and states."""
        self._data.setdefault("states", {})[name] = {"rate": _law(rate, uses, derivative), "initial": initial, **properties}
        return self

    def input(self, name, value=0, **properties):
        """A number, formula of t or table that laws may use by its name, and that a ``Simulation`` may set."""
        self._data.setdefault("inputs", {})[name] = {"value": value, **properties}
        return self

    def include(self, file, prefix=None, **properties):
        """Another model file as a part of this one: at, rotation, parameters, connect={"ground": body}, repeat

        A relative path begins at the current folder; a name without a slash and without ``.json`` is that of a shipped file.

        >>> import kreisel
        >>> pair = kreisel.Model("pair", gravity=[0, 0, -9.81])
        >>> for side, y in (("left.", 0.1), ("right.", -0.1)):
        ...     pair = pair.include("leg", side, at=[0, y, 0], parameters={"L": 0.5})
        >>> kreisel.solve(pair, 0.1)["left.foot"].shape[1]
        3
        """
        return self._add("include", {"file": str(file), **({} if prefix is None else {"prefix": prefix}), **properties})

    def to_dict(self):
        """A copy of the content of the model file; functions stay functions."""
        return copy.deepcopy(self._data)

    def save(self, path):
        """Writes a model file, which ``kreisel run`` can read."""
        text = text_of("model", self._data, 2)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")

    def _add(self, kind, properties):
        self._data.setdefault(kind, []).append(properties)
        return self

    def _handle(self, assembles):
        functions = {}
        text = text_of("model", _without_laws(self._data, functions), 1)
        return _core.model_from_json("model", text, assembles, functions)

    def __repr__(self):
        counts = ", ".join(f"{len(self._data.get(kind, []))} {kind}" for kind in ("bodies", "joints", "drivers", "forces"))
        return f"<kreisel.Model {self._data.get('name', 'mechanism')!r}: {counts}>"


class System:
    """Your own equations M(q) v' + g(t,q,v) + B^T lam = 0, phi(t,q) = 0 on a product of groups.

    space        list of factors: ("rn", n), "so3", "r3xso3" or "se3"; rotations are quaternions (x, y, z, w) in q
    mass         mass(q), shape (nv, nv)
    force        force(t, q, v), shape (nv,)
    constraint   constraint(t, q), shape (constraints,); give ``constraints``, their number
    q0, v0       start; v0 defaults to rest

    Optional: jacobian(t, q) = B, constraint_rate(t, q) = phi_t, curvature(t, q, v) = B' v + phi_t', energy(t, q, v),
    velocity_constraint(t, q, v) with ``velocity_constraints``, multiplier_force(t, q, v, lam).
    outputs, a dict of functions (t, q, v) by name: numbers that results report, and that ``conserve="output.NAME"`` keeps.

    Derivatives that are not given are computed by differences, whose steps are chosen at the start of a run. Hints in case
    that fails: scale, the length over which the functions vary, a number or one per entry of v; time_scale, the time,
    1/w for sin(w t).
    corners: list of times at which the functions jump or have a kink, or a function of t that returns the next one after t, or None;
    steps end there.

    >>> import numpy as np, kreisel
    >>> pendulum = kreisel.System(space=[("rn", 2)], mass=lambda q: np.eye(2), force=lambda t, q, v: [0, 9.81],
    ...                           constraint=lambda t, q: [(q @ q - 1) / 2], constraints=1, q0=[1, 0])
    >>> result = kreisel.solve(pendulum, 1.0)
    >>> bool(abs(np.hypot(*result.q[-1]) - 1) < 1e-8)
    True
    """

    def __init__(self, **parts):
        self._parts = parts


def handle(model, assembles=False, t0=None, t_end=None):
    """The model as _core takes it: a name, a path or an object. t0, t_end: of the run, None for those of the model."""
    if isinstance(model, System):
        return _core.model_from_functions(model._parts, t0, t_end)
    if isinstance(model, dict):
        model = Model.from_dict(model)
    if isinstance(model, Model):
        return model._handle(assembles or t0 not in (None, 0))  # judged when the run starts
    if isinstance(model, str) or hasattr(model, "__fspath__"):
        return str(model)
    raise ValueError(f"model is {model!r:.80}, expected a name, the path of a model file, a dict, kreisel.Model or kreisel.System")


def _law(value, uses, derivative):
    if callable(value):
        return Law(value, uses, derivative)
    if uses is not None or derivative is not None:
        raise ValueError(f"uses and derivative need a function, got {value!r:.80}")
    return value


_KINDS = {"bodies": "body", "joints": "joint", "drivers": "driver", "forces": "force", "events": "event", "outputs": "output",
          "states": "state", "inputs": "input", "parameters": "parameter"}


def laws_of(data):
    """The laws of a model, each with the kind and the name of what it belongs to and its key there."""
    def inside(value, kind, name, key):
        if isinstance(value, Law):
            yield value, kind, name, key
        elif isinstance(value, dict):
            for own, entry in value.items():
                yield from inside(entry, kind, name, key or own)
        elif isinstance(value, (list, tuple)):
            for entry in value:
                yield from inside(entry, kind, name, key)
    for section, kind in _KINDS.items():
        entries = data.get(section) or []
        if isinstance(entries, dict):
            entries = [({"formula": entry} if isinstance(entry, Law) else entry, name) for name, entry in entries.items()]
        else:
            entries = [(entry, entry.get("name", "") if isinstance(entry, dict) else "") for entry in entries]
        for entry, name in entries:
            yield from inside(entry, kind, name, "")


def told(message, model):
    """A message about an element that is not finite, with the function of Python that gives its value."""
    data = model._data if isinstance(model, Model) else model
    if "not finite" in message and isinstance(data, dict):
        for law, kind, name, key in laws_of(data):
            if f"'{name}'" in message:
                return f"{message}\n  {key} of {kind} '{name}' is the Python function '{law.name}'"
    return message


def _without_laws(data, functions):
    """A copy with the names of its laws in their places; functions: filled with them by these names."""
    places = {}
    for law, kind, name, key in laws_of(data):
        places.setdefault(id(law), f"{key} of {kind} '{name}'")

    def copied(value):
        if isinstance(value, Law):
            name = f"python_law_{len(functions) + 1}"
            functions[name] = (value.function, value.uses, value.derivative, places.get(id(value), "the model"))
            return "=" + name
        if isinstance(value, dict):
            return {key: copied(entry) for key, entry in value.items()}
        return [copied(entry) for entry in value] if isinstance(value, (list, tuple)) else value
    return copied(data)


def text_of(what, data, indent):
    """JSON of plain values and of numpy's; anything else is a ValueError."""
    def plain(value):
        if hasattr(value, "tolist"):
            return value.tolist()
        if isinstance(value, Law):
            raise ValueError(f"{what}: {value!r:.80} is a Python function, which a file cannot hold; write it as a formula")
        raise ValueError(f"{what}: {value!r:.80} is neither a number, a text, a list nor a dict")
    try:
        return json.dumps(data, indent=indent, default=plain, allow_nan=False)
    except TypeError as error:
        raise ValueError(f"{what}: {error}") from None
    except ValueError as error:
        if "JSON compliant" not in str(error):
            raise
        raise ValueError(f"{what}: a number is not finite") from None
