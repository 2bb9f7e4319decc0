"""A thread with an asyncio event loop, owned by one operator."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["EventLoopThread"]


class EventLoopThread:
    """Runs coroutines; all methods are called from the thread that made it."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        # For asyncio.to_thread(); an executor of our own can be left behind when a call in it hangs.
        self._executor = ThreadPoolExecutor(thread_name_prefix=name)
        self._loop.set_default_executor(self._executor)
        self._running: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function inside of the loop and return what it returns; a coroutine is awaited."""
        outcome: Future[Any] = Future()

        async def run() -> None:
            try:
                result = function(*arguments)
                outcome.set_result(await result if inspect.isawaitable(result) else result)
            except BaseException as error:
                outcome.set_exception(error)

        self.start(lambda _: run(), [None])
        return outcome.result()

    def start(self, function: Callable[[Any], Coroutine[Any, Any, None]], arguments: list[Any]) -> None:
        """Start a coroutine, which must not raise, for each of some arguments."""
        self._loop.call_soon_threadsafe(self._start, function, arguments)

    def cancel(self) -> None:
        """Cancel what runs, and wait until it has ended."""
        self.call(self._cancel_all)

    def stop(self) -> None:
        """Cancel what still runs, and end the thread."""
        if self._thread.is_alive():
            self.cancel()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._loop.close()

    def _start(self, function: Callable[[Any], Coroutine[Any, Any, None]], arguments: list[Any]) -> None:
        for argument in arguments:
            task = self._loop.create_task(function(argument))
            # The loop itself only holds tasks weakly.
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _cancel_all(self) -> None:
        others = [task for task in self._running if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
