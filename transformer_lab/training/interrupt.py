"""Ctrl-C as a wish: the step under way is finished, and what was learned is kept.

Floor 4b.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SAME = 1.0  # seconds in which a second signal is taken for the first one's echo: torchrun passes a Ctrl-C on once more


class Wish:
    """Whether Ctrl-C was pressed.

    Source:
        Ours; chapter 10.
    """

    def __init__(self) -> None:
        self.since: float | None = None

    @property
    def to_stop(self) -> bool:
        """Whether the training should end after this step."""
        return self.since is not None

    def __call__(self, number: int, frame: object) -> None:
        """Handles a signal: the first is noted, a later one stops at once."""
        if self.since is None:
            self.since = time.monotonic()
        elif time.monotonic() - self.since > SAME:
            raise KeyboardInterrupt


@contextmanager
def ctrl_c_as_wish() -> Iterator[Wish]:
    """Turns the first Ctrl-C inside a with-block into a wish; a second one, a second later, stops at once as always.

    Python lets only the main thread handle signals: in another one, and where Ctrl-C is ignored (nohup), all stays as it is.

    Yields:
        The wish, which the block looks at when it suits.

    Source:
        Ours; chapter 10.
    """
    wish = Wish()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield wish
        return
    signal.signal(signal.SIGINT, wish)
    try:
        yield wish
    finally:
        signal.signal(signal.SIGINT, before)
