"""Generations that hand out their text piece by piece, from a thread that computes only when it is asked to."""
import atexit
import contextlib
import threading
import weakref
from typing import Callable, Optional, Union

from .generation import Generation

#: What a worker hands over: a piece of text, the result, or what went wrong.
Delivery = Union[str, Generation, BaseException]
#: Runs a generation with a listener that returns False to end it.
Run = Callable[[Callable[[Optional[int], str], bool]], Generation]


_running: "weakref.WeakSet[Worker]" = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """No thread may compute on while the interpreter goes away."""
    for worker in list(_running):
        worker.stop()
        worker.join()


class Worker:
    """Runs feed() and then run(listener) in a thread. `deliver` gets the pieces, last the Generation or the exception; after each piece the thread
    waits for `more` or `stop`, so the session stands where the text that was handed out ends."""

    def __init__(self, feed: Callable[[], None], run: Run, cancel: Callable[[], None], deliver: Callable[[Delivery], object]) -> None:
        self._feed, self._run, self._cancel, self._deliver = feed, run, cancel, deliver
        self._turn = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._feeding = True
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="pteron-generate", daemon=True)
        self._thread.start()
        _running.add(self)

    def more(self) -> None:
        """Asks for the next piece."""
        self._turn.release()

    def stop(self) -> None:
        """Ends the generation at the next token. The last delivery still comes."""
        with self._lock:
            self._stopped = True
            if self._feeding:
                self._cancel()  # taken back by the prefill or by the generation, whichever it ends
        self._turn.release()

    def join(self) -> None:
        self._thread.join()

    def _hear(self, token: Optional[int], text: str) -> bool:
        if text and not self._stopped:
            self._deliver(text)
            self._turn.acquire()
        return not self._stopped

    def _work(self) -> None:
        self._turn.acquire()
        try:
            self._feed()
            self._fed()
            last: Delivery = self._run(self._hear)
        except BaseException as error:  # handed to the thread that asked
            self._fed()
            last = error
        _running.discard(self)
        with contextlib.suppress(RuntimeError):  # an event loop that was closed meanwhile
            self._deliver(last)

    def _fed(self) -> None:
        with self._lock:
            self._feeding = False
