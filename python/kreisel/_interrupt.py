"""Ctrl-C during a run: the run ends at the next point and keeps what it has."""
import signal
import threading


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run or a study; ``result`` holds what was computed, with status "interrupted", or all if it was done already."""

    def __init__(self, message, result):
        super().__init__(message)
        self.result = result

    def __reduce__(self):
        return type(self), (str(self), self.result)


class Interruption:
    """While it lasts, the first Ctrl-C is a wish (``was_asked``); the second raises KeyboardInterrupt, wherever the program is.

    Without it a KeyboardInterrupt would come up inside the user's own functions, and the run would be lost. Handlers that
    are not Python's own stay in place, and so do all of them in other threads, which signals do not reach.
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
