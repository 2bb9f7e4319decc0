"""Warns of three failed logins in a row, by a pattern; `failed_logins.py` does it with a process function.

python examples/pattern_failed_logins.py
"""

from __future__ import annotations

from penstock import DataStream, StreamExecutionEnvironment, WatermarkStrategy
from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern

Login = tuple[str, str, int]

LOGINS: list[Login] = [
    ("ann", "failed", 1),
    ("ann", "failed", 2),
    ("bob", "failed", 2),
    ("ann", "succeeded", 4),
    ("bob", "failed", 5),
    ("ann", "failed", 7),
    ("ann", "failed", 8),
    ("ann", "failed", 9),
]


def warnings_of(logins: DataStream[Login]) -> DataStream[str]:
    """Return the warnings about a stream of logins."""
    pattern: Pattern[Login] = (
        Pattern.begin("fail", AfterMatchSkipStrategy.skip_past_last_event())
        .where(lambda login: login[1] == "failed")
        .times(3)
        .consecutive()
        .within(3_600_000)
    )
    return CEP.pattern(logins.key_by(lambda login: login[0]), pattern).select(
        lambda match: f"{match['fail'][0][0]} failed at second {', '.join(str(login[2]) for login in match['fail'])}"
    )


def build(env: StreamExecutionEnvironment) -> DataStream[str]:
    """Build the job."""
    in_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda login, _: login[2] * 1000)
    logins: DataStream[Login] = env.from_collection(LOGINS)
    return warnings_of(logins.assign_timestamps_and_watermarks(in_time).set_parallelism(1))


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    build(env).print("warning")
    env.execute("failed logins by a pattern")


if __name__ == "__main__":
    main()
