"""Progress of a run: a line on a terminal, a bar in a notebook."""
import sys
import time

PATIENCE = 1.0  # seconds before anything is shown: short runs stay silent


def watcher(progress):
    """(show, end): _core calls show(t, start, end) at intervals, end() removes the display; show is None when nothing is shown.

    progress: None shows a bar in notebooks only, True also a line elsewhere, False nothing; or a function of t.
    """
    if callable(progress):
        return lambda t, start, end: progress(t), lambda: None
    shell = _notebook()
    if progress is False or (progress is None and shell is None):
        return None, lambda: None
    display = _Notebook(shell) if shell is not None else _Line()
    return display.show, display.end


def _notebook():
    """IPython.display when this runs in a notebook, otherwise None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return sys.modules.get("IPython.display") if type(shell).__name__ == "ZMQInteractiveShell" else None


class _Line:
    def __init__(self):
        self._is_drawn = False

    def show(self, t, start, end):
        print(f"\rt = {t:.6g} of {end:g}", end="", file=sys.stderr, flush=True)
        self._is_drawn = True

    def end(self):
        if self._is_drawn:
            print(file=sys.stderr)


class _Notebook:
    def __init__(self, display):
        self._display, self._handle, self._begin = display, None, time.monotonic()

    def show(self, t, start, end):
        if time.monotonic() - self._begin < PATIENCE:
            return
        bar = self._display.HTML(f'<progress value="{(t - start) / (end - start):.4f}"></progress> t = {t:.6g} of {end:g}')
        if self._handle is None:
            self._handle = self._display.display(bar, display_id=True)
        else:
            self._handle.update(bar)

    def end(self):
        if self._handle is not None:
            self._handle.update(self._display.HTML(""))
