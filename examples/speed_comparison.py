"""Compares the speed of vehicles as two devices report it, second by second.

python examples/speed_comparison.py

The on-board diagnosis sends three readings per second with the same timestamp and up to 30 seconds late; the other
device sends one per second, up to nine minutes late. Both are collapsed to one reading per vehicle and second and then
joined.
"""

from __future__ import annotations

import json
from typing import Any

from penstock import DataStream, Duration, StreamExecutionEnvironment, Time, TumblingEventTimeWindows, WatermarkStrategy

OBD = [
    json.dumps({"vehicle": vehicle, "ts": second, "speed": speed + third})
    for vehicle, second, speed in [("v1", 100, 60), ("v1", 101, 63), ("v2", 100, 80), ("v2", 102, 84)]
    for third in (0, 1, 2)
]
DEVICE = [
    json.dumps({"vehicle": vehicle, "ts": second, "speed": speed})
    for vehicle, second, speed in [("v2", 100, 85), ("v1", 100, 58), ("v2", 101, 80), ("v1", 101, 66)]
]


def readings(env: StreamExecutionEnvironment, lines: list[str], lateness: Duration) -> DataStream[dict[str, Any]]:
    """Return one reading per vehicle and second: the last one that came."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(lateness).with_timestamp_assigner(
        lambda reading, _: reading["ts"] * 1000
    )
    return (
        env.from_collection(lines)
        .map(json.loads)
        .set_parallelism(1)
        .assign_timestamps_and_watermarks(strategy)
        .set_parallelism(1)
        .key_by(lambda reading: reading["vehicle"])
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .allowed_lateness(Time.seconds(30))
        .reduce(lambda earlier, later: later)
    )


def compared(obd: dict[str, Any], device: dict[str, Any]) -> str:
    """Return both speeds and their difference."""
    difference = obd["speed"] - device["speed"]
    return f"{obd['vehicle']} at {obd['ts']}: {obd['speed']} and {device['speed']}, difference {difference:+}"


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    obd = readings(env, OBD, Duration.of_seconds(30))
    device = readings(env, DEVICE, Duration.of_minutes(9))
    joined = obd.join(device).where(lambda reading: reading["vehicle"]).equal_to(lambda reading: reading["vehicle"])
    joined.window(TumblingEventTimeWindows.of(Time.seconds(1))).apply(compared).print()
    env.execute("speed comparison")


if __name__ == "__main__":
    main()
