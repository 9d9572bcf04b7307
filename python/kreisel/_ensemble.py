"""Studies over many processes and machines: any executor of concurrent.futures runs the cases, one journal keeps the rows."""
import concurrent.futures
import functools
import hashlib
import os
import pickle
import sys
import sysconfig
import time
import types

from . import _core
from ._model import Model
from ._progress import PATIENCE, _notebook

CHUNK_SECONDS = 0.25  # of work per message: long compared to the message, short enough that a killed worker loses little
MOST_PER_CHUNK = 2000
MOST_LOSSES = 3  # workers that one case may crash


class ExecutorBroken(RuntimeError):
    """The executor is broken; ``result`` holds the finished runs. The same call with a new executor continues."""

    def __init__(self, message, result=None):
        super().__init__(message)
        self.result = result


# ---- workers

_jobs = {}


def _job_of(payload):
    """The study of a message, read once per process."""
    job = _jobs.get(payload)
    if job is None:
        from ._study import _text_and_models
        spec, place, own_text, cache = pickle.loads(payload)
        text, models, place = _text_and_models(spec, place)
        job = _core.Campaign(text, place, models, own_text, "", 1, False, cache, True, lambda: False, None, 0.0)
        while len(_jobs) > 3:
            _jobs.pop(next(iter(_jobs)))
        _jobs[payload] = job
    return job


def work(payload, cases):
    """Runs some cases: the lines for the journal, and how long they took."""
    job = _job_of(payload)
    begin = time.perf_counter()
    return job.run(cases), time.perf_counter() - begin


def search_work(payload, point):
    """Evaluates a point of a search: its line for the journal."""
    job = _jobs.get(payload)
    if job is None:
        from ._study import _text_and_models
        spec, place, own_text, _ = pickle.loads(payload)
        text, models, place = _text_and_models(spec, place)
        job = _jobs[payload] = _core.Search(text, place, models, own_text, "", True, lambda: False)
    return job.evaluate(point)


def _payload(spec, place, own_text, cache):
    """What workers need, wherever they were started."""
    if isinstance(spec, str) or hasattr(spec, "__fspath__"):
        spec = os.path.abspath(spec)
    try:
        return pickle.dumps((spec, place, own_text, os.path.abspath(cache) if cache else cache))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"the study cannot be sent to workers: {error}; functions of models must be defined in a module, not as a lambda "
                         "or inside a function") from None


# ---- fingerprint of the models

def fingerprint(models):
    """A text that differs when models differ. Functions count by their code and by what it uses: defaults, closures, global values, other
    functions of the user; what belongs to a library counts by its name."""
    return _Digest().of(models) if models else ""


class _Digest:
    PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)

    def __init__(self):
        self._known, self._open = {}, []  # by identity, with the things, so that none is replaced by another of the same identity

    def of(self, thing):
        if isinstance(thing, self.PLAIN):
            return repr(thing)
        if id(thing) in self._open:  # a function that calls itself
            return f"level {self._open.index(id(thing))}"
        if id(thing) not in self._known:
            self._open.append(id(thing))
            try:
                parts = self._parts_of(thing)
            finally:
                self._open.pop()
            self._known[id(thing)] = thing, hashlib.sha256("\n".join([type(thing).__name__, *parts]).encode()).hexdigest()
        return self._known[id(thing)][1]

    def _all(self, things):
        return [self.of(one) for one in things]

    def _pairs(self, things):
        return sorted(f"{self.of(key)}: {self.of(value)}" for key, value in things.items())

    def _parts_of(self, thing):
        if isinstance(thing, Model):
            return [self.of(thing.to_dict())]
        if isinstance(thing, dict):
            return self._pairs(thing)
        if isinstance(thing, (list, tuple)):
            return self._all(thing)
        if isinstance(thing, (set, frozenset)):
            return sorted(self._all(thing))
        if isinstance(thing, types.CodeType):  # nested functions are constants
            return [thing.co_code.hex(), *thing.co_names, *self._all(thing.co_consts)]
        if isinstance(thing, types.ModuleType) or _is_of_library(thing):
            return [str(getattr(thing, "__module__", "")), getattr(thing, "__qualname__", None) or getattr(thing, "__name__", "")]
        if isinstance(thing, types.FunctionType):
            used = {name: thing.__globals__[name] for name in _names_in(thing.__code__) if name in thing.__globals__}
            return [self.of(thing.__code__), self.of(thing.__defaults__), self.of(thing.__kwdefaults__),
                    *(self.of(cell.cell_contents) for cell in thing.__closure__ or ()), *self._pairs(used)]
        if isinstance(thing, types.MethodType):
            return self._all([thing.__func__, thing.__self__])
        if isinstance(thing, functools.partial):
            return self._all([thing.func, thing.args, thing.keywords])
        if isinstance(thing, type):
            kept = {name: value for name, value in vars(thing).items() if name not in ("__dict__", "__weakref__", "__module__", "__doc__")}
            return [thing.__qualname__, *self._all(thing.__bases__), *self._pairs(kept)]
        if isinstance(thing, (staticmethod, classmethod)):
            return [self.of(thing.__func__)]
        if isinstance(thing, property):
            return self._all([thing.fget, thing.fset])
        if hasattr(thing, "tolist"):
            return [str(getattr(thing, "dtype", "")), self.of(thing.tolist())]
        if hasattr(thing, "__dict__"):
            return [self.of(type(thing)), *self._pairs(vars(thing))]
        try:
            return [pickle.dumps(thing).hex()]
        except Exception:  # noqa: B902 - anything may refuse to be pickled
            return [repr(thing)]


def _names_in(code):
    """Of code and the functions inside it."""
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names.update(_names_in(const))
    return sorted(names)


def _is_of_library(thing):
    """Functions and classes of Python itself, of installed packages and of kreisel."""
    if isinstance(thing, (types.BuiltinFunctionType, types.BuiltinMethodType)):
        return getattr(thing, "__self__", None) is None or isinstance(thing.__self__, types.ModuleType)
    if not isinstance(thing, (type, types.FunctionType)):
        return type(thing).__name__ == "ufunc"
    name = thing.__module__ or ""
    if name in ("", "__main__"):
        return False
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    places = ("site-packages", "dist-packages", sysconfig.get_paths()["stdlib"])
    return name.split(".")[0] == "kreisel" or module is not None and (file is None or any(place in file for place in places))


# ---- progress

class Progress:
    """Cases done and failed, rate and remaining time: a line on a terminal, a bar in a notebook."""

    def __init__(self, wanted, total, already, is_search=False):
        self._total, self._already, self._begin, self._shown = total, already, time.monotonic(), 0.0
        self._is_search = is_search
        self._display = _notebook() if wanted is not False else None
        self._is_line = self._display is None and (wanted is True or (wanted is None and sys.stderr.isatty()))
        self._handle, self._is_drawn = None, False

    def text(self, done, failed):
        seconds = time.monotonic() - self._begin
        rate = (done - self._already) / seconds if seconds > 0 else 0.0
        words = f"{done} of at most {self._total} evaluations" if self._is_search else f"{done} of {self._total} cases"
        if failed:
            words += f", {failed} failed"
        if rate > 0:
            words += f", {rate:.3g} per second"
        if rate > 0 and not self._is_search:  # how many evaluations are left is not known
            words += f", about {_duration((self._total - done) / rate)} left"
        return words

    def show(self, done, failed):
        now = time.monotonic()
        if not (self._is_line or self._display) or now - self._begin < PATIENCE or now - self._shown < 0.2:
            return
        self._shown = now
        words = self.text(done, failed)
        if self._is_line:
            print(f"\r\033[K{words[:_columns() - 1]}", end="", file=sys.stderr, flush=True)
            self._is_drawn = True
            return
        bar = self._display.HTML(f'<progress value="{done / max(1, self._total):.4f}"></progress> {words}')
        if self._handle is None:
            self._handle = self._display.display(bar, display_id=True)
        else:
            self._handle.update(bar)

    def end(self):
        if self._is_drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        if self._handle is not None:
            self._handle.update(self._display.HTML(""))


def _columns():
    """Of the terminal: a line that wraps cannot be drawn over."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _duration(seconds):
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


# ---- the driver

def _workers_of(executor):
    for name in ("num_workers", "_max_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    client = getattr(executor, "_client", None)  # of Dask
    if client is not None:
        return max(1, sum(client.nthreads().values()))
    return os.cpu_count() or 1


def _is_loss(error):
    """Whether a worker has died. Dask reports it for the case only after other workers have tried it; a pool is broken as a whole."""
    return isinstance(error, concurrent.futures.BrokenExecutor) or type(error).__name__ in ("KilledWorker", "CommClosedError")


class Team:
    """The workers of an executor. When one dies: the executor is replaced if that broke it, and what was under way is run again by itself."""

    def __init__(self, executor):
        self._make = executor if callable(executor) and not hasattr(executor, "submit") else None
        self._executor = self._make() if self._make else executor
        self._is_own = self._make is not None
        self._loss, self._is_broken = "", False

    def size(self):
        return _workers_of(self._executor)

    def submit(self, *words):
        """A future; None when a worker has died since the last one."""
        try:
            return self._executor.submit(*words)
        except concurrent.futures.BrokenExecutor as error:
            self._is_broken, self._loss = True, type(error).__name__
            return None

    def result_of(self, future):
        """None when a worker has died."""
        try:
            return future.result()
        except BaseException as error:  # noqa: B902 - Dask raises its own exceptions
            if not _is_loss(error):
                raise
            self._is_broken = self._is_broken or isinstance(error, concurrent.futures.BrokenExecutor)
            self._loss = type(error).__name__
            return None

    def alone(self, *words):
        """What the function returns, run with nothing beside it; None when a worker has died."""
        if self._is_broken:
            self._replace()
        future = self.submit(*words)
        return None if future is None else self.result_of(future)

    def tries(self):
        """How many workers a case may take with it, this time: Dask has given it to several already."""
        return MOST_LOSSES if self._is_broken else 1

    def loss(self, what):
        return f"the worker that ran this {what} died ({self._loss})"

    def close(self):
        if self._is_own:
            self._executor.shutdown(wait=True)

    def _replace(self):
        """A new executor in place of a broken one."""
        old, self._is_broken = self._executor, False
        if self._make:
            old.shutdown(wait=False)
            self._executor = self._make()
        elif isinstance(old, concurrent.futures.ProcessPoolExecutor):
            kept = {"mp_context": old._mp_context, "initializer": old._initializer, "initargs": old._initargs}
            self._executor = concurrent.futures.ProcessPoolExecutor(old._max_workers, **kept)
            self._is_own = True
        else:
            raise ExecutorBroken(f"{type(old).__name__} is broken: a worker died; to continue, repeat the call with a new executor, or pass "
                                 "a function that makes one")


class Driver:
    """Sends cases to an executor and takes their rows.

    Cases travel in chunks that take about CHUNK_SECONDS. When a worker dies, the chunks that it may have had are run again one after the other,
    and chunks that fail again case by case; a case that has crashed MOST_LOSSES workers is a row with the status worker-lost.
    """

    def __init__(self, executor, payload, campaign, wants_to_stop, show):
        self._team = Team(executor)
        self._payload, self._campaign, self._wants_to_stop, self._show = payload, campaign, wants_to_stop, show
        self._seconds_per_case = None
        self._losses, self._running = {}, {}

    def run(self):
        try:
            cases = Queue(self._campaign.open())
            while not self._wants_to_stop():
                suspects = self._spread(cases)
                if not suspects:
                    return
                self._one_by_one(suspects)
        finally:
            for future in self._running:
                future.cancel()
            self._team.close()

    def _chunk_size(self):
        if self._seconds_per_case is None:
            return 1
        return max(1, min(MOST_PER_CHUNK, int(CHUNK_SECONDS / max(self._seconds_per_case, 1e-7))))

    def _take(self, lines, seconds, count):
        self._campaign.take(lines)
        per_case = seconds / max(1, count)
        before = self._seconds_per_case
        self._seconds_per_case = per_case if before is None else 0.7 * before + 0.3 * per_case
        self._show(*self._campaign.tally())

    def _spread(self, cases):
        """All cases, with a few chunks waiting for every worker. Ends early when a worker dies: returns the chunks that it may have had."""
        window = 3 * self._team.size() + 1
        suspects = []
        while True:
            while not suspects and len(self._running) < window and not self._wants_to_stop():
                chunk = cases.take(self._chunk_size())
                if not chunk:
                    break
                future = self._team.submit(work, self._payload, chunk)
                if future is None:
                    suspects.append(chunk)
                else:
                    self._running[future] = chunk
            if not self._running:
                return suspects
            done, _ = concurrent.futures.wait(self._running, timeout=0.2, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                chunk = self._running.pop(future)
                result = self._team.result_of(future)
                if result is None:
                    suspects.append(chunk)
                else:
                    self._take(*result, len(chunk))
            if self._wants_to_stop():
                for future in [future for future in self._running if future.cancel()]:
                    del self._running[future]

    def _one_by_one(self, suspects):
        """Runs chunks one after the other to find the case that kills workers."""
        queue = [list(chunk) for chunk in suspects]
        while queue and not self._wants_to_stop():
            chunk = queue.pop(0)
            result = self._team.alone(work, self._payload, chunk)
            if result is not None:
                self._take(*result, len(chunk))
            elif len(chunk) > 1:
                queue[:0] = [[case] for case in chunk]
            else:
                losses = self._losses[chunk[0]] = self._losses.get(chunk[0], 0) + 1
                if losses < self._team.tries():
                    queue.insert(0, chunk)
                elif self._seconds_per_case is None and len(self._losses) >= MOST_LOSSES:
                    raise ExecutorBroken(f"workers die before they finish a case: {self._team.loss('case')}")
                else:
                    self._campaign.take(self._campaign.lost(chunk[0], "worker-lost", self._team.loss("case")))
                    self._show(*self._campaign.tally())


class Queue:
    """Takes cases from an array, some at a time."""

    def __init__(self, cases):
        self._cases, self._at = cases, 0

    def take(self, count):
        part = self._cases[self._at:self._at + count].tolist()
        self._at += len(part)
        return part
