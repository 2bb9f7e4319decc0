"""Finds users who log in, order and pay without a look at anything else, by a pattern and by a process function.

python examples/pattern_fake_orders.py
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueState,
    ValueStateDescriptor,
)
from penstock.cep import CEP, Pattern

Action = tuple[str, str]

STEPS = ("login", "order", "pay")
ACTIONS: list[Action] = [
    ("ann", "login"),
    ("bob", "login"),
    ("ann", "order"),
    ("bob", "look"),
    ("bob", "order"),
    ("ann", "pay"),  # nothing between: suspicious
    ("bob", "pay"),
]


class InARow(KeyedProcessFunction[str, Action, str]):
    """Counts how many of the steps a user has made in a row: the twin of the pattern, a state machine by hand."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state: how many steps were made."""
        self.made: ValueState[int] = runtime_context.get_state(ValueStateDescriptor("made"))

    def process_element(self, value: Action, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """Go on by one step, or begin anew."""
        made = self.made.value() or 0
        made = made + 1 if value[1] == STEPS[made] else int(value[1] == STEPS[0])
        if made == len(STEPS):
            yield f"{value[0]}: login, order, pay"
            made = 0
        self.made.update(made)


def by_pattern(actions: DataStream[Action]) -> DataStream[str]:
    """Find them by a pattern; it could stand in a file of settings."""
    conditions = {step: (lambda action, step=step: action[1] == step) for step in STEPS}
    pattern = Pattern.parse("login next order next pay within 1 h", conditions)
    found = CEP.pattern(actions.key_by(lambda action: action[0]), pattern).in_processing_time()
    return found.select(lambda match: f"{match['pay'][0][0]}: {', '.join(match)}")


def by_process_function(actions: DataStream[Action]) -> DataStream[str]:
    """Find them by a process function."""
    return actions.key_by(lambda action: action[0]).process(InARow())


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    actions: DataStream[Action] = env.from_collection(ACTIONS)
    by_pattern(actions).print("pattern")
    by_process_function(actions).print("process function")
    env.execute("fake orders")


if __name__ == "__main__":
    main()
