"""What matching a pattern costs per event, against the process function that finds the same by hand.

``python -m benchmarks.patterns`` puts the same events through the operators of both, in runs of 1,000 with a watermark
behind each run, for 1,000 and for 1,000,000 keys. Times are processor time of the thread; contestants take turns, and
ratios are formed within a turn. The pattern also brings its events into the order of their timestamps, the process
function takes them as they come.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from penstock import KeyedProcessFunction, OutputTag, RuntimeContext, ValueStateDescriptor
from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern
from penstock.testing import OperatorHarness

Event = tuple[str, Any, int]
KEYS = (1_000, 1_000_000)
RUN = 1_000
WINDOW = 900
UNPAID = OutputTag("unpaid")


class FailedLogins(KeyedProcessFunction[str, Event, str]):
    """Keeps the failures since the last success."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state."""
        self.failures = runtime_context.get_state(ValueStateDescriptor("failures"))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """Note a failure, or forget all of them."""
        before = self.failures.value()
        if value[1] != "failed":
            if before is not None:
                self.failures.clear()
            return
        failures = (*(before or ()), value)
        if len(failures) == 3:
            yield value[0]
            self.failures.clear()
        else:
            self.failures.update(failures)


class Fraud(KeyedProcessFunction[str, Event, str]):
    """Keeps the last amount."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state."""
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """Compare a payment with the one before."""
        last = self.last.value()
        if last is not None and last < 1 and value[1] > 500:
            yield value[0]
        self.last.update(value[1])


class Unpaid(KeyedProcessFunction[str, Event, str]):
    """Sets a timer for every order; the payment deletes it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state."""
        self.deadline = runtime_context.get_state(ValueStateDescriptor("deadline"))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """Start or stop the timer."""
        if value[1] == "created":
            self.deadline.update(value[2] + WINDOW)
            ctx.timer_service().register_event_time_timer(value[2] + WINDOW)
        elif value[1] == "paid" and (deadline := self.deadline.value()) is not None:
            ctx.timer_service().delete_event_time_timer(deadline)
            self.deadline.clear()
            yield value[0]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        """Report the order."""
        self.deadline.clear()
        yield ctx.get_current_key()


def key_of(event: Event) -> str:
    """Return the key of an event."""
    return event[0]


def logins() -> OperatorHarness:
    """Three failed logins in a row."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = Pattern.begin("fail", skip).where(lambda event: event[1] == "failed").times(3).consecutive()
    return OperatorHarness.for_pattern(pattern.within(10_000_000), lambda match: match["fail"][0][0], key=key_of)


def fraud() -> OperatorHarness:
    """A small payment right before a large one."""
    pattern = Pattern.begin("small").where(lambda event: event[1] < 1).next("large").where(lambda event: event[1] > 500)
    return OperatorHarness.for_pattern(pattern.within(10_000_000), lambda match: match["large"][0][0], key=key_of)


def unpaid() -> OperatorHarness:
    """Orders with and without a payment."""
    pattern = Pattern.begin("created").where(lambda event: event[1] == "created")
    pattern = pattern.followed_by("paid").where(lambda event: event[1] == "paid").within(WINDOW)
    return OperatorHarness.for_stream(
        lambda stream: CEP.pattern(stream.key_by(key_of), pattern).select(
            UNPAID, lambda half, _: half["created"][0][0], lambda match: match["paid"][0][0]
        )
    )


def events_of(scene: str, keys: int, count: int) -> list[Event]:
    """Return the events of a scene."""
    rng = random.Random(1)
    if scene == "unpaid orders":
        kinds = ("created", "paid", "created", "other", "created", "paid")
        return [(f"o{at // 2 % keys}", kinds[at % 6], at) for at in range(count)]
    choices: tuple[Any, ...] = ("failed", "ok", "ok", "ok", "ok")
    if scene == "fraud":
        choices = (0.5, 20, 30, 40, 50, 60, 70, 80, 600)
    return [(f"u{rng.randrange(keys)}", rng.choice(choices), at) for at in range(count)]


SCENES: dict[str, tuple[Callable[[], OperatorHarness], Callable[[], Any]]] = {
    "failed logins": (logins, FailedLogins),
    "fraud": (fraud, Fraud),
    "unpaid orders": (unpaid, Unpaid),
}


def microseconds(harness: OperatorHarness, events: list[Event]) -> float:
    """Return the processor time per event."""
    started = time.thread_time()
    for at in range(0, len(events), RUN):
        run = events[at : at + RUN]
        harness.operator.process(run, [event[2] for event in run])
        harness.operator.process_watermark(run[-1][2])
        harness.outputs.clear()
    return (time.thread_time() - started) / len(events) * 1e6


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    print(f"{'scene':<16}{'keys':>10}{'pattern, us':>14}{'by hand, us':>14}{'ratio':>8}")
    for scene, (by_pattern, twin) in SCENES.items():
        for keys in KEYS:
            events = events_of(scene, keys, options.events)
            turns = [
                (
                    microseconds(by_pattern(), events),
                    microseconds(OperatorHarness.for_process(twin(), key=key_of), events),
                )
                for _ in range(options.turns)
            ]
            pattern, hand = (statistics.median(turn[which] for turn in turns) for which in (0, 1))
            ratio = statistics.median(hand / pattern for pattern, hand in turns)
            print(f"{scene:<16}{keys:>10,}{pattern:>14.2f}{hand:>14.2f}{ratio:>8.2f}")


if __name__ == "__main__":
    main()
