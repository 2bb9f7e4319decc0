"""Finds card fraud: a very small payment, to try the card, and right after it a large one.

python examples/fraud_detection.py
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment, ValueState, ValueStateDescriptor

SMALL = 1.0
LARGE = 500.0

PAYMENTS = [
    ("card 1", 0.5),
    ("card 2", 0.5),
    ("card 3", 1.0),
    ("card 1", 600.0),  # fraud: right after a payment below 1
    ("card 2", 20.0),
    ("card 3", 600.0),  # none: the payment before was not below 1
    ("card 2", 600.0),  # none: a usual payment lies between
]


class FraudDetector(KeyedProcessFunction[str, tuple[str, float], str]):
    """Remembers the last amount of each card."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state; every card has its own value."""
        self.last_amount: ValueState[float] = runtime_context.get_state(ValueStateDescriptor("last amount"))

    def process_element(self, value: tuple[str, float], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """Compare a payment with the one before."""
        card, amount = value
        last = self.last_amount.value()  # None for the first payment of a card
        if last is not None and last < SMALL and amount > LARGE:
            yield f"{card}: {amount} right after {last}"
        self.last_amount.update(amount)


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    payments = env.from_collection(PAYMENTS)
    payments.key_by(lambda payment: payment[0]).process(FraudDetector()).print("fraud")
    env.execute("fraud detection")


if __name__ == "__main__":
    main()
