"""User-defined methods: prototypes that use the same solver, starting values and studies as the built-in ones."""
from . import _core


def register_method(name, method, *, order=2, formulations=()):
    """Registers a method under a name for solve and study.

    method      a class, or a function that returns an object, made once per run, with
                  points                        number of past points it uses, 1 to 6
                  velocity(x, past, h)          (v, a) at the end of the step; x is about the mean velocity of the step
                  position(x, past, h)          q at the end of the step; without it q_n exp(h x)
                past[i] is the point n - i: t, q, v, a, lam, and omega, the increment of the step that ended there
    order       its expected order, 1 to 6
    formulations  those that it supports; all but "projected" by default

    Steps are constant. Derivatives are taken by differences; velocity must be smooth in x and keep no state between calls.

    >>> import kreisel
    >>> class Bdf2:
    ...     points = 2
    ...     def velocity(self, x, past, h):
    ...         v = (3 * x - past[0].omega / h) / 2
    ...         return v, (3 * v - 4 * past[0].v + past[1].v) / (2 * h)
    >>> kreisel.register_method("bdf2-of-the-manual", Bdf2, order=2)
    >>> table = kreisel.study({"model": "heavy-top", "method": "bdf2-of-the-manual", "formulation": "index3", "step": [2e-3, 1e-3, 5e-4],
    ...                        "t_end": 0.1, "measures": ["q max", "lambda max"]})
    >>> [round(curve.order) for curve in table.curves if curve.order]
    [2, 2]
    """
    if not callable(method):
        raise ValueError(f"method is {method!r:.80}, expected a class or a function that returns an object")
    _core.register_method(str(name), int(order), [str(f) for f in formulations], method)


def multistep(alpha, beta=(1.0,)):
    """The parameters of the method "mk-multistep" for sum alpha_i y_{n+1-i} = h sum beta_i f_{n+1-i}.

    >>> import kreisel
    >>> bdf3 = kreisel.multistep([11 / 6, -3, 3 / 2, -1 / 3])
    >>> table = kreisel.study({"model": "heavy-top", "method": "mk-multistep", "set": bdf3, "formulation": "stabilized-index2",
    ...                        "step": [1e-3, 5e-4], "t_end": 0.1, "measures": ["q max", "v max", "lambda max"]})
    >>> [round(curve.order) for curve in table.curves if curve.order]
    [3, 3, 3]
    """
    for name, weights in (("alpha", alpha), ("beta", beta)):
        if not 1 <= len(weights) <= 7:
            raise ValueError(f"{name} has {len(weights)} numbers, expected 1 to 7")
    return {**{f"alpha{i}": float(a) for i, a in enumerate(alpha)}, **{f"beta{i}": float(b) for i, b in enumerate(beta)}}
