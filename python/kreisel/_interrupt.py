"""Ctrl-C during a run: the run ends at the next point and keeps its points."""
import signal
import threading


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run or a study; ``result`` holds what was computed, with status "interrupted", or the complete result if the run was finished."""

    def __init__(self, message, result):
        super().__init__(message)
        self.result = result

    def __reduce__(self):
        return type(self), (str(self), self.result)


class Interruption:
    """While it is active, the first Ctrl-C is a request to stop (``was_asked``); the second raises KeyboardInterrupt at once.

    Without it KeyboardInterrupt would be raised inside the user's functions, and the run would be lost. Handlers other than
    Python's default stay in place. In other threads, which signals do not reach, nothing changes.
    """

    def __init__(self):
        self._is_asked, self._is_active = False, False

    def __enter__(self):
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._ask)
            self._is_active = True
        return self

    def __exit__(self, *_):
        if self._is_active:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _ask(self, number, frame):
        if self._is_asked:
            raise KeyboardInterrupt
        self._is_asked = True

    def was_asked(self):
        return self._is_asked
