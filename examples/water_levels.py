"""A water level monitor: sensors along a river send readings, the program counts, averages and raises alarms.

    ./run-demo                       # or: python examples/water_levels.py
    ./run-demo --seconds 60 --sensors 5 --rate 50 --parallelism 3

The readings are made up, always the same ones for the same options. They come as lines ``sensor,timestamp,level``. Some
come out of order, a few much too late, and a few are broken.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from penstock import (
    AggregateFunction,
    Configuration,
    DataStream,
    DataStreamSink,
    Duration,
    JobClient,
    JobExecutionResult,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    SourceFunction,
    StreamExecutionEnvironment,
    Time,
    TimeWindow,
    TumblingEventTimeWindows,
    ValueState,
    ValueStateDescriptor,
    WatermarkStrategy,
)

FIRST_READING = 1_549_044_120_000  # 2019-02-01, 18:02:00 UTC
WINDOW = 5_000
RISE = 5_000
HIGH_LEVEL = 8.0
MOST_DISORDER = 1_000

MALFORMED: OutputTag[str] = OutputTag("malformed")
HIGH: OutputTag[str] = OutputTag("high")
LATE: OutputTag[Reading] = OutputTag("late")

LEGEND = """\
What the lines say (the number before > is the parallel subtask that printed the line):
  malformed  a line that is no reading: kept aside, not lost and not fatal
  count      how many readings of a sensor have come so far
  high       a level has gone above 8 m                       (a side output)
  rising     a level has risen for 5 s without a fall         (keyed state and an event-time timer)
  average    the mean level of a sensor over 5 s              (a window in event time)
  late       a reading that came after its window was closed  (late data, kept aside)
  highest    the highest of the averages                      (a window over all sensors)
"""


class Reading(NamedTuple):
    """One measurement: which sensor, when (milliseconds), how high (metres)."""

    sensor: str
    timestamp: int
    level: float


class Sensors(SourceFunction[str]):
    """Emits the lines of all sensors at a steady pace."""

    def __init__(self, sensors: int, rate: float, seconds: float) -> None:
        self.sensors = sensors
        self.rate = rate
        self.seconds = seconds
        self.is_cancelled = False

    def open(self, runtime_context: RuntimeContext) -> None:
        """Make a counter for the summary."""
        self.millis = runtime_context.get_metrics_group().counter("milliseconds")

    def run(self, ctx: SourceFunction.SourceContext[str]) -> None:
        """Emit each line when it is due."""
        started = time.monotonic()
        for arrival, line in arrivals(self.sensors, self.rate, self.seconds):
            ahead = started + arrival - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
            if self.is_cancelled:
                return
            ctx.collect(line)
        self.millis.inc(round((time.monotonic() - started) * 1000))

    def cancel(self) -> None:
        """End the loop in ``run``."""
        self.is_cancelled = True


def arrivals(sensors: int, rate: float, seconds: float, seed: int = 11) -> Iterator[tuple[float, str]]:
    """Make up the lines, each with the second at which it arrives, in the order of arrival."""
    chance = random.Random(seed)
    periods = [chance.uniform(13, 19) for _ in range(sensors)]
    phases = [(index + chance.uniform(0, 0.5)) / sensors for index in range(sensors)]
    on_the_way: list[tuple[float, str]] = []
    for number in range(int(rate * seconds)):
        second = number / rate
        index = number % sensors
        level = 5.5 + 3 * math.sin(2 * math.pi * (second / periods[index] + phases[index]))
        line = f"sensor_{index + 1},{FIRST_READING + int(second * 1000)},{level:.3f}"
        delay = chance.choices([0, chance.uniform(0, 0.9), 9], weights=[80, 19, 1])[0]
        if chance.random() < 0.02:
            line = chance.choice([line.replace(",", ";"), line[:-6], f"sensor_{index + 1},?,?", "connection reset"])
        heapq.heappush(on_the_way, (second + delay if second + delay < seconds else second, line))
        while on_the_way[0][0] <= second:
            yield heapq.heappop(on_the_way)
            if not on_the_way:
                break
    while on_the_way:
        yield heapq.heappop(on_the_way)


class Parse(ProcessFunction[str, Reading]):
    """Turns lines into readings; what is no reading goes to the side output MALFORMED."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Make the counters that the summary shows."""
        self.readings = runtime_context.get_metrics_group().counter("readings")
        self.malformed = runtime_context.get_metrics_group().counter("malformed lines")

    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Reading]:
        """Parse one line."""
        try:
            sensor, timestamp, level = value.split(",")
            reading = Reading(sensor, int(timestamp), float(level))
        except ValueError:
            self.malformed.inc()
            ctx.output(MALFORMED, value)
        else:
            self.readings.inc()
            yield reading


class Watch(KeyedProcessFunction[str, Reading, str]):
    """Raises an alarm when a level rises for 5 s, and tells when it goes above 8 m."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state: every sensor has its own."""
        self.last: ValueState[Reading] = runtime_context.get_state(ValueStateDescriptor("last reading"))
        self.rise: ValueState[Reading] = runtime_context.get_state(ValueStateDescriptor("first reading of the rise"))
        self.alarms = runtime_context.get_metrics_group().counter("alarms")

    def process_element(self, value: Reading, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """Compare a reading with the one before."""
        last = self.last.value()
        if last is not None and value.timestamp < last.timestamp:
            return  # out of order: a newer reading has been looked at already
        self.last.update(value)
        if value.level > HIGH_LEVEL and (last is None or last.level <= HIGH_LEVEL):
            ctx.output(HIGH, f"{value.sensor} is at {value.level:.2f} m since {clock(value.timestamp)}")
        rise = self.rise.value()
        if last is not None and value.level < last.level:
            if rise is not None:
                ctx.timer_service().delete_event_time_timer(rise.timestamp + RISE)
                self.rise.clear()
        elif rise is None:
            ctx.timer_service().register_event_time_timer(value.timestamp + RISE)
            self.rise.update(value)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        """Raise the alarm: no fall has deleted the timer."""
        rise, last = self.rise.value(), self.last.value()
        self.rise.clear()
        # A sensor that has gone silent has not risen. At the end of the stream all timers fire.
        if rise and last and last.timestamp >= timestamp:
            self.alarms.inc()
            yield f"{ctx.get_current_key()} has risen for 5 s, from {rise.level:.2f} m to {last.level:.2f} m"


class Mean(AggregateFunction[Reading, tuple[int, float], tuple[int, float]]):
    """Keeps count and sum of a window; the readings themselves need not be kept."""

    def create_accumulator(self) -> tuple[int, float]:
        """Start with nothing."""
        return 0, 0.0

    def add(self, value: Reading, accumulator: tuple[int, float]) -> tuple[int, float]:
        """Add a reading."""
        return accumulator[0] + 1, accumulator[1] + value.level

    def get_result(self, accumulator: tuple[int, float]) -> tuple[int, float]:
        """Return count and mean."""
        return accumulator[0], accumulator[1] / accumulator[0]

    def merge(self, a: tuple[int, float], b: tuple[int, float]) -> tuple[int, float]:
        """Combine two parts of a window."""
        return a[0] + b[0], a[1] + b[1]


class Average(NamedTuple):
    """The mean level of a sensor in a window."""

    sensor: str
    window: TimeWindow
    readings: int
    level: float


class NameWindow(ProcessWindowFunction[tuple[int, float], Average, str, TimeWindow]):
    """Adds sensor and window to the mean."""

    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[tuple[int, float]]
    ) -> Iterator[Average]:
        """Emit the one result of the window."""
        for readings, level in elements:
            yield Average(key, context.window(), readings, level)


def monitor(lines: DataStream[str]) -> None:
    """Build the job: everything between the lines and what is printed."""
    parsed = lines.process(Parse()).name("Parse")
    in_order = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(MOST_DISORDER))
    in_time = in_order.with_timestamp_assigner(lambda reading, _: reading.timestamp)
    sensors = parsed.assign_timestamps_and_watermarks(in_time).key_by(lambda reading: reading.sensor)

    counts = sensors.map_with_state(lambda reading, count: ((reading.sensor, (count or 0) + 1), (count or 0) + 1))
    alarms = sensors.process(Watch()).name("Watch")
    window = TumblingEventTimeWindows.of(Time.milliseconds(WINDOW))
    averages = sensors.window(window).side_output_late_data(LATE).aggregate(Mean(), NameWindow()).name("Average")
    highest = averages.window_all(window).max_by("level").name("Highest")

    show(parsed.get_side_output(MALFORMED).map(repr), "malformed")
    show(counts.filter(lambda count: count[1] % 50 == 0).map(lambda count: f"{count[0]}: {count[1]} readings"), "count")
    show(alarms.get_side_output(HIGH), "high")
    show(alarms, "rising")
    show(averages.map(show_average), "average")
    show(averages.get_side_output(LATE).map(lambda late: f"{late.sensor} at {clock(late.timestamp)}"), "late")
    top = highest.map(lambda average: f"{average.sensor} with {average.level:.2f} m").set_parallelism(1)
    show(top, "highest").set_parallelism(1)


def show(stream: DataStream[str], label: str) -> DataStreamSink:
    """Print a stream under a label."""
    return stream.print(label).name(f"Print {label}")


def show_average(average: Average) -> str:
    """Write a window's result as text."""
    start, end = clock(average.window.start), clock(average.window.end)
    return f"{average.sensor} from {start} to {end}: {average.level:.2f} m ({average.readings} readings)"


def clock(timestamp: int) -> str:
    """Write an event time as the time of day."""
    return datetime.fromtimestamp(timestamp / 1000, UTC).strftime("%H:%M:%S")


def main() -> None:
    """Read the options, show the plan, run the job, show the summary."""
    parser = argparse.ArgumentParser(description="A water level monitor on a local Spark; ends by itself.")
    parser.add_argument("--seconds", type=float, default=20, help="how long readings come (default: 20)")
    parser.add_argument("--sensors", type=int, default=3, help="how many sensors there are (default: 3)")
    parser.add_argument("--rate", type=float, default=25, help="readings per second, of all sensors (default: 25)")
    parser.add_argument("--parallelism", type=int, default=2, help="parallel subtasks per step (default: 2)")
    options = parser.parse_args()

    configuration = Configuration.from_dict({"pipeline.name": "water levels"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(options.parallelism)
    monitor(env.add_source(Sensors(options.sensors, options.rate, options.seconds), "Sensors"))
    print("The input is lines such as", next(arrivals(options.sensors, options.rate, options.seconds))[1])
    print("\nThe plan. All stages run at the same time; records flow between them through Spark's pipelined shuffle.\n")
    print("\n".join(line for line in env.explain().splitlines() if not line.startswith("      ")))
    print("\nStarting Spark ...", flush=True)
    client = env.execute_async("water levels")
    print(f"Spark's own page on this job: {client.get_web_address()}\n\n{LEGEND}", flush=True)
    wait_for(client)


def wait_for(client: JobClient) -> None:
    """Wait for the end of the job and show its summary; Ctrl-C cancels it."""
    try:
        show_summary(client.get_job_execution_result().result())
    except KeyboardInterrupt:
        print("\nStopping ...", flush=True)
        client.cancel().result()
        sys.exit("Stopped before the end; nothing is left running.")


def show_summary(result: JobExecutionResult) -> None:
    """Show what the counters of the functions say."""
    counters = result.get_all_accumulator_results()
    seconds = counters["milliseconds"] / 1000
    readings = counters["readings"]
    print(
        f"\nThe stream has ended: {readings} readings in {seconds:.1f} s ({readings / seconds:.0f} per second),"
        f" {counters['malformed lines']} malformed lines, alarms of rising water: {counters['alarms']}."
    )


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # while Spark was starting
        sys.exit("Stopped before the job had started.")
