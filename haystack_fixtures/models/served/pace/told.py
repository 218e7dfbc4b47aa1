"""What is told of a server that has fallen silent: to who waits, and when it is given up."""

from __future__ import annotations

import time


def silent_line(server: str, why: str, left_s: float) -> str:
    """Of a server that has answered before; `why`: what its last attempt failed with; it is given up in `left_s`."""
    until = time.strftime("%H:%M:%S", time.localtime(time.time() + left_s))
    told = f"{server} does not answer any more{f' ({why})' if why else ''}: the run waits for it until {until}"
    return f"{told}. Ctrl-C ends the run now; no answer is lost either way"


def back_line(server: str) -> str:
    """Of one that has been told to be silent."""
    return f"{server} answers again: the run goes on"


def farewell(server: str, row: int | None, why: str) -> str:
    """Of a server that is given up after so many attempts in a row; `None`: it never answered."""
    if row is None:
        return f"{server} never answered ({why}); start the server or mend --base-url"
    return f"the server is gone: {row} attempts in a row failed ({why}); run again to go on from here"
