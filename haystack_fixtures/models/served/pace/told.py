"""What is told of a server that has fallen silent, or refuses all: to who waits, and when it is given up."""

from __future__ import annotations

import time

from needlework.haystack_fixtures.models.served.pace.pacing import News

_CTRL_C = "Ctrl-C ends the run now; no answer is lost either way"


def news_line(news: News, server: str, why: str, *, heard: bool) -> str:
    """`why`: what the server's last attempt failed with. `heard`: it has answered before."""
    if news.what == "back":
        return f"{server} answers again: the run goes on"
    until = time.strftime("%H:%M:%S", time.localtime(time.time() + news.left_s))
    if news.what == "refuses":  # about: until a request has waited so long of its own time
        told = f"{server} refuses every request ({why}): the run waits for it until about {until}"
        return f"{told}. {_CTRL_C}. Fewer requests at once may help: --concurrency"
    does = "does not answer any more" if heard else "has not answered yet"
    return f"{server} {does}{f' ({why})' if why else ''}: the run waits for it until {until}. {_CTRL_C}"


def farewell(server: str, row: int | None, why: str) -> str:
    """Of a server that is given up after so many attempts in a row; `None`: it never answered."""
    if row is None:
        return f"{server} never answered ({why}); start the server or mend --base-url"
    return f"the server is gone: {row} attempts in a row failed ({why}); run again to go on from here"
