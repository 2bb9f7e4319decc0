"""Finds card fraud by a pattern: a very small payment, then a large one; `fraud_detection.py` uses a process function.

python examples/pattern_card_fraud.py

The order of arrival counts, so the pattern is matched in processing time and needs no timestamps.
"""

from __future__ import annotations

from penstock import DataStream, StreamExecutionEnvironment
from penstock.cep import CEP, Pattern

Payment = tuple[str, float]

PAYMENTS: list[Payment] = [
    ("card 1", 0.5),
    ("card 2", 0.5),
    ("card 3", 1.0),
    ("card 1", 600.0),  # fraud: right after a payment below 1
    ("card 2", 20.0),
    ("card 3", 600.0),  # none: the payment before was not below 1
    ("card 2", 600.0),  # none: a usual payment lies between
]


def build(env: StreamExecutionEnvironment) -> DataStream[str]:
    """Build the job."""
    pattern: Pattern[Payment] = (
        Pattern.begin("small")
        .where(lambda payment: payment[1] < 1)
        .next("large")
        .where(lambda payment: payment[1] > 500)
        .within(3_600_000)
    )
    payments: DataStream[Payment] = env.from_collection(PAYMENTS)
    found = CEP.pattern(payments.key_by(lambda payment: payment[0]), pattern).in_processing_time()
    return found.select(
        lambda match: f"{match['large'][0][0]}: {match['large'][0][1]} right after {match['small'][0][1]}"
    )


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    build(env).print("fraud")
    env.execute("card fraud by a pattern")


if __name__ == "__main__":
    main()
