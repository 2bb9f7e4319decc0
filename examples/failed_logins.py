"""Warns of three failed logins in a row.

python examples/failed_logins.py
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock import KeyedProcessFunction, ListState, ListStateDescriptor, RuntimeContext, StreamExecutionEnvironment

IN_A_ROW = 3

LOGINS = [
    ("ann", "failed", "10:00:01"),
    ("ann", "failed", "10:00:02"),
    ("bob", "failed", "10:00:02"),
    ("ann", "succeeded", "10:00:04"),
    ("bob", "failed", "10:00:05"),
    ("ann", "failed", "10:00:07"),
    ("ann", "failed", "10:00:08"),
    ("ann", "failed", "10:00:09"),
]


class FailedLogins(KeyedProcessFunction[str, tuple[str, str, str], str]):
    """Keeps the times of the failures since a user's last success."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state; every user has a list."""
        self.failures: ListState[str] = runtime_context.get_list_state(ListStateDescriptor("failures"))

    def process_element(self, value: tuple[str, str, str], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """Note a failure, or forget all of them after a success."""
        user, outcome, at = value
        if outcome == "succeeded":
            self.failures.clear()
            return
        self.failures.add(at)
        times = list(self.failures.get())
        if len(times) == IN_A_ROW:
            yield f"{user} failed at {', '.join(times)}"
            self.failures.clear()


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    logins = env.from_collection(LOGINS)
    logins.key_by(lambda login: login[0]).process(FailedLogins()).print("warning")
    env.execute("failed logins")


if __name__ == "__main__":
    main()
