from concurrent.futures import Executor
from os import PathLike
from typing import Any, Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__version__: str
Array = NDArray[np.float64]
Event = Callable[[float, Array, Array, Array], float]

def model_names() -> list[str]: ...
def method_names() -> list[str]: ...
def multistep(alpha: Sequence[float], beta: Sequence[float] = ...) -> dict[str, float]: ...
def register_method(name: str, method: Callable[[], Any], *, order: int = 2, formulations: Sequence[str] = ()) -> None: ...

class Law:
    function: Callable[[float, dict[str, float]], float]
    uses: list[str]
    derivative: Callable[[float, dict[str, float]], ArrayLike] | None
    def __init__(
        self,
        function: Callable[[float, dict[str, float]], float],
        uses: Sequence[str] | None = ...,
        derivative: Callable[[float, dict[str, float]], ArrayLike] | None = ...,
    ) -> None: ...

class Model:
    def __init__(self, name: str = ..., **settings: Any) -> None: ...
    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Model: ...
    def body(self, name: str, **properties: Any) -> Model: ...
    def parameter(self, name: str, value: Any, **properties: Any) -> Model: ...
    def output(self, name: str, formula: Any = None, uses: Any = None, **properties: Any) -> Model: ...
    def state(self, name: str, rate: Any, initial: Any = 0, uses: Any = None, derivative: Any = None, **properties: Any) -> Model: ...
    def input(self, name: str, value: Any = 0, **properties: Any) -> Model: ...
    def joint(self, name: str, type: str, **properties: Any) -> Model: ...
    def driver(self, name: str, type: str, **properties: Any) -> Model: ...
    def material(self, name: str, **properties: Any) -> Model: ...
    def section(self, name: str, **properties: Any) -> Model: ...
    def rod(self, name: str, **properties: Any) -> Model: ...
    def force(self, name: str, type: str, **properties: Any) -> Model: ...
    def torque(
        self,
        joint: str,
        value: Any,
        uses: Sequence[str] | None = ...,
        derivative: Callable[[float, dict[str, float]], ArrayLike] | None = ...,
        name: str | None = ...,
        type: str = ...,
        **properties: Any,
    ) -> Model: ...
    def event(
        self,
        name: str,
        when: Any,
        direction: str = ...,
        action: Any = ...,
        uses: Sequence[str] | None = ...,
        **properties: Any,
    ) -> Model: ...
    def include(self, file: str | PathLike[str], prefix: str | None = ..., **properties: Any) -> Model: ...
    def to_dict(self) -> dict[str, Any]: ...
    def save(self, path: str | PathLike[str]) -> None: ...

class System:
    def __init__(
        self,
        *,
        space: Sequence[str | tuple[str, int]],
        mass: Callable[[Array], ArrayLike],
        force: Callable[[float, Array, Array], ArrayLike],
        q0: ArrayLike,
        v0: ArrayLike | None = ...,
        constraint: Callable[[float, Array], ArrayLike] = ...,
        constraints: int = ...,
        velocity_constraint: Callable[[float, Array, Array], ArrayLike] = ...,
        velocity_constraints: int = ...,
        multiplier_force: Callable[[float, Array, Array, Array], ArrayLike] = ...,
        jacobian: Callable[[float, Array], ArrayLike] = ...,
        constraint_rate: Callable[[float, Array], ArrayLike] = ...,
        curvature: Callable[[float, Array, Array], ArrayLike] = ...,
        energy: Callable[[float, Array, Array], float] = ...,
        outputs: Mapping[str, Callable[[float, Array, Array], float]] = ...,
        corners: Sequence[float] | Callable[[float], float | None] = ...,
        scale: ArrayLike = ...,
        time_scale: float = ...,
        name: str = ...,
        t0: float = ...,
        t_end: float = ...,
    ) -> None: ...

class Result:
    t: Array
    q: Array
    v: Array
    a: Array
    lam: Array
    h: Array
    order: NDArray[np.int32]
    energy: Array
    status: str
    message: str
    success: bool
    method: str
    formulation: str
    bodies: list[str]
    joints: list[str]
    outputs: list[str]
    nsteps: int
    nrejected: int
    nfev: int
    njev: int
    nlu: int
    events: list[tuple[str, str, float]]
    t_events: list[Array]
    verification: dict[str, Any] | None
    def __getitem__(self, output: str) -> Array: ...
    @property
    def sol(self) -> Callable[[ArrayLike], tuple[Array, Array, Array, Array]] | None: ...
    def d(self, parameter: str) -> Sensitivity: ...
    def gradient(self, scalar: str) -> dict[str, float]: ...
    def x(self, body: int | str = ...) -> Array: ...
    def R(self, body: int | str = ...) -> Array: ...
    def reaction(self, joint: int | str = ...) -> tuple[Array, Array]: ...
    def save(self, folder: str | PathLike[str]) -> None: ...
    def report(self, path: str | PathLike[str]) -> None: ...
    def plot(self) -> Any: ...
    def to_pandas(self) -> Any: ...

class IntegrationError(RuntimeError):
    result: Result
    def __init__(self, message: str, result: Result) -> None: ...

class Interrupted(KeyboardInterrupt):
    result: Any
    def __init__(self, message: str, result: Any) -> None: ...

def solve(
    model: str | PathLike[str] | dict[str, Any] | Model | System,
    t_span: float | tuple[float, float] | None = ...,
    *,
    method: str | None = ...,
    group: str | None = ...,
    t_eval: ArrayLike | None = ...,
    events: Event | Sequence[Event] | None = ...,
    dense_output: bool = ...,
    progress: bool | Callable[[float], None] | None = ...,
    parameters: dict[str, Any] | None = ...,
    verify: bool = ...,
    sensitivities: Sequence[str] | None = ...,
    adjoint: Sequence[str] | None = ...,
    rtol: float | None = ...,
    atol: float | None = ...,
    step: float | None = ...,
    order: int | None = ...,
    formulation: str | None = ...,
    **options: Any,
) -> Result: ...

class Simulation:
    inputs: list[str]
    outputs: list[str]
    bodies: list[str]
    def __init__(
        self,
        model: str | PathLike[str] | dict[str, Any] | Model | System,
        t_span: float | tuple[float, float] | None = ...,
        *,
        method: str | None = ...,
        group: str | None = ...,
        parameters: dict[str, Any] | None = ...,
        events: Event | Sequence[Event] | None = ...,
        **options: Any,
    ) -> None: ...
    @classmethod
    def resume(
        cls,
        path: str | PathLike[str],
        model: str | PathLike[str] | dict[str, Any] | Model | System,
        t_span: float | tuple[float, float] | None = ...,
        *,
        method: str | None = ...,
        group: str | None = ...,
        parameters: dict[str, Any] | None = ...,
        events: Event | Sequence[Event] | None = ...,
        **options: Any,
    ) -> Simulation: ...
    def advance(self, duration: float | None = ..., *, to: float | None = ...) -> None: ...
    def __setitem__(self, name: str, value: float) -> None: ...
    def __getitem__(self, name: str) -> Any: ...
    t: float
    t_end: float
    q: Array
    v: Array
    a: Array
    lam: Array
    lambda_: Array
    energy: float
    has_ended: bool
    events: list[tuple[str, str, float]]
    method: str
    nsteps: int
    def x(self, body: int | str = ...) -> Array: ...
    def R(self, body: int | str = ...) -> Array: ...
    @property
    def solution(self) -> Result: ...
    def checkpoint(self, path: str | PathLike[str]) -> None: ...

class Stored:
    summary: dict[str, Any]
    columns: list[str]
    t: Array
    h: Array
    order: NDArray[np.int64]
    lam: Array
    energy: Array
    status: str
    message: str
    success: bool
    bodies: list[str]
    joints: list[str]
    def __getitem__(self, column: str) -> Array: ...
    def to_pandas(self) -> Any: ...
    def x(self, body: int | str = ...) -> Array: ...
    def R(self, body: int | str = ...) -> Array: ...
    def reaction(self, joint: int | str = ...) -> tuple[Array, Array]: ...

def read(folder: str | PathLike[str]) -> Stored: ...

class Curve:
    label: str
    order: float | None
    x: Array
    y: Array

class Study:
    data: dict[str, Any]
    status: str
    rows: list[dict[str, Any]]
    plots: list[dict[str, Any]]
    curves: list[Curve]
    folder: str
    @property
    def statistics(self) -> dict[str, dict[str, Any]]: ...
    def columns(self) -> dict[str, Array]: ...
    def __len__(self) -> int: ...

def study(
    spec: dict[str, Any] | str | PathLike[str],
    jobs: int = ...,
    *,
    folder: str | PathLike[str] | None = ...,
    executor: Executor | Callable[[], Executor] | None = ...,
    retry: str | None = ...,
    cache: str | PathLike[str] | None = ...,
    progress: bool | None = ...,
    reference: Callable[[float], tuple[ArrayLike, ArrayLike, ArrayLike]] | str | PathLike[str] | None = ...,
    accuracy: float = ...,
) -> Study: ...

class ExecutorBroken(RuntimeError):
    result: Study | None

class Optimum:
    variables: dict[str, float]
    value: float | None
    success: bool
    message: str
    points: Array
    values: Array
    data: dict[str, Any]

def optimize(
    spec: dict[str, Any] | str | PathLike[str],
    *,
    folder: str | PathLike[str] | None = ...,
    executor: Executor | None = ...,
    jobs: int = ...,
    progress: bool | None = ...,
) -> Optimum: ...

class AnalysisError(RuntimeError): ...

class Point:
    parameter: float  # of a Path
    is_limit: bool
    is_critical: bool
    t: float
    q: Array
    v: Array
    lam: Array
    energy: float
    outputs: dict[str, Any]
    limits: list[str]
    def x(self, body: str) -> Array: ...
    def R(self, body: str) -> Array: ...
    def reaction(self, joint: str) -> tuple[Array, Array]: ...
    def __getitem__(self, output: str) -> Any: ...

class Equilibrium(Point):
    stability: str | None
    growth: float | None
    iterations: int
    solved: dict[str, float]

class Path(list[Point]):
    parameters: Array
    limits: list[Point]
    critical: list[Point]

class Linearization(Point):
    A: Array
    B: Array
    C: Array
    D: Array
    X: Array
    V: Array
    inputs: list[str]
    columns: list[str]
    axes: str
    is_steady: bool
    stability: str | None
    eigenvalues: NDArray[np.complex128]
    shapes: NDArray[np.complex128]
    largest: list[str]
    frequencies: Array
    damping_ratios: Array
    def response(self, omega: float | Sequence[float] | Array) -> NDArray[np.complex128]: ...

def static(
    model: str | PathLike[str] | dict[str, Any] | Model | System,
    *,
    solve: str | None = ...,
    so_that: dict[str, float] | None = ...,
    group: str | None = ...,
    parameters: dict[str, Any] | None = ...,
    **options: Any,
) -> Equilibrium: ...
def static_path(
    model: str | PathLike[str] | dict[str, Any] | Model | System,
    along: tuple[str, float, float],
    *,
    points: int = ...,
    group: str | None = ...,
    parameters: dict[str, Any] | None = ...,
    **options: Any,
) -> Path: ...
def linearize(
    model: str | PathLike[str] | dict[str, Any] | Model | System,
    *,
    at: str | float = ...,
    axes: str = ...,
    group: str | None = ...,
    parameters: dict[str, Any] | None = ...,
    **options: Any,
) -> Linearization: ...
def modes(
    model: str | PathLike[str] | dict[str, Any] | Model | System,
    *,
    at: str | float = ...,
    axes: str = ...,
    group: str | None = ...,
    parameters: dict[str, Any] | None = ...,
    **options: Any,
) -> Linearization: ...

class Sensitivity:
    q: Array
    v: Array
    lam: Array
    t_events: Array
    uncertainty: float
    def __getitem__(self, output: str) -> Array: ...

class Fit:
    parameters: dict[str, float]
    standard_errors: dict[str, float]
    covariance: Array
    correlation: Array
    noise: dict[str, float]
    fitted: dict[str, Array]
    iterations: int
    runs: int
    is_at_bound: dict[str, bool]
    others: list[tuple[dict[str, float], float]]

class Inverse:
    t: Array
    q: Array
    v: Array
    a: Array
    lam: Array
    condition: Array
    inputs: dict[str, Array]
    def __getitem__(self, output: str) -> Array: ...

def inverse(
    model: str | PathLike[str] | dict[str, Any] | Model | System,
    t_span: float | tuple[float, float] | None = ...,
    *,
    follow: dict[str, str | Callable[[float], Any]] | None = ...,
    inputs: list[str] | None = ...,
    points: int = ...,
    t_eval: Any = ...,
    group: str | None = ...,
    parameters: dict[str, Any] | None = ...,
    **options: Any,
) -> Inverse: ...

class Minimum:
    parameters: dict[str, float]
    value: float
    gradient: dict[str, float]
    is_at_bound: dict[str, bool]
    runs: int
    history: list[float]

def minimize(
    model: str | PathLike[str] | dict[str, Any] | Model | System,
    objective: Callable[[Array, dict[str, Array]], float],
    free: dict[str, tuple[float, float] | None],
    t_span: float | tuple[float, float] | None = ...,
    *,
    t_eval: Any = ...,
    tolerance: float = ...,
    max_runs: int = ...,
    group: str | None = ...,
    parameters: dict[str, Any] | None = ...,
    **options: Any,
) -> Minimum: ...
def fit(
    model: str | PathLike[str] | dict[str, Any] | Model | System,
    data: dict[str, Any],
    free: dict[str, tuple[float, float] | None],
    *,
    starts: int = ...,
    group: str | None = ...,
    parameters: dict[str, Any] | None = ...,
    **options: Any,
) -> Fit: ...
