"""kreisel: constrained mechanical systems on Lie groups.

>>> import kreisel
>>> top = kreisel.solve("heavy-top", (0, 0.1), rtol=1e-8, atol=1e-8)
>>> top.status
'success'
>>> top.x("top").shape == (len(top.t), 3)
True

Errors in the input raise ``ValueError``; a failed integration raises ``IntegrationError``, whose ``result`` holds what was computed.
Ctrl-C raises ``Interrupted``, a KeyboardInterrupt with the same ``result``.
"""
from ._analyses import AnalysisError, fit, inverse, linearize, minimize, modes, static, static_path
from ._core import method_names, model_names, version
from ._ensemble import ExecutorBroken
from ._interrupt import Interrupted
from ._method import multistep, register_method
from ._model import Law, Model, System
from ._optimize import Optimum, optimize
from ._read import read
from ._simulation import Simulation
from ._solve import IntegrationError, Result, solve
from ._study import study

__version__ = version()
__all__ = ["AnalysisError", "ExecutorBroken", "IntegrationError", "Interrupted", "Law", "Model", "Optimum", "Result", "Simulation", "System",
           "fit", "inverse", "linearize", "method_names", "minimize", "model_names", "modes", "multistep", "optimize", "read",
           "register_method", "solve", "static", "static_path", "study"]
