"""Writes the records of one subtask into part files, and hands closed ones over for their commit.

A subtask counts the files that it begins, whatever for; the count is part of each checkpoint and of each hidden name.
So a restored writer can tell the unfinished files that no checkpoint knows, and removes them.

Several jobs may start from one savepoint and write to one directory: each is a *fork*. Its hidden files have a mark of
its own, so that no fork removes those of another. It goes on in copies of the open files, and where another job has
taken a name first it moves aside. What stands in the savepoint is seen once, and all that a fork adds to it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.connectors.files.sink.bucket_assigner import BucketContext, buckets_by_time
from penstock.connectors.files.sink.compaction_queue import CompactionQueue
from penstock.connectors.files.sink.part_names import PartNames
from penstock.connectors.files.sink.rolling_policy import UNLIMITED, RollingPolicy, size_limit
from penstock.connectors.files.sink.state import OpenPart, PendingPart, WriterState
from penstock.errors import ProgramError, StateRestoreError
from penstock.vocabulary.program_checks import UnusableValueError
from penstock.vocabulary.settings.modes import CheckpointKind
from penstock.vocabulary.sinks.protocol import SinkWriter

_COPIED_AT_A_TIME = 1 << 20

if TYPE_CHECKING:
    from penstock.connectors.files.sink.part_file import Part
    from penstock.connectors.files.sink.part_storage import PartStorage
    from penstock.connectors.files.sink.settings import SinkSettings
    from penstock.vocabulary.sinks.protocol import WriterContext

__all__ = ["PartWriter"]


class PartWriter(SinkWriter[Any]):
    """The writer of a file sink.

    Args:
        settings: What the program asked for.
        storage: The file system.
        base_path: The base path in it.
        context: The subtask.
        states: The states of all subtasks if the job goes on from a checkpoint.
    """

    def __init__(
        self,
        settings: SinkSettings,
        storage: PartStorage,
        base_path: str,
        context: WriterContext,
        states: list[WriterState] | None = None,
    ) -> None:
        self._storage = storage
        self._base_path = base_path
        self._context = context
        self._format = settings.part_format
        self._policy = settings.rolling_policy
        self._limit = size_limit(self._policy)
        self._assigner = settings.bucket_assigner
        self._bucket_at = buckets_by_time(self._assigner)
        self._check_interval = settings.bucket_check_interval
        self._rolls_always = not (storage.can_resume and self._format.can_resume)
        self._parts: dict[str, Part] = {}
        self._closed: list[PendingPart] = []
        self._taken_over: list[PendingPart] = []
        """Files of a savepoint that are finished as they are, by whichever fork comes first."""
        self._persisted: tuple[OpenPart, ...] = ()
        self._ended = False
        is_new_fork = bool(states) and context.shared_savepoint is not None
        self._is_fork = is_new_fork or any(state.is_fork for state in states or ())
        lineage = context.job_id if is_new_fork else settings.lineage
        token = states[0].token if states and not is_new_fork else _token(lineage, context.operator_id)
        self._names = PartNames(settings.output_file_config, token)
        # After a restart all subtasks go on behind the largest number of any of them.
        self._next_number = max((state.next_number for state in states or ()), default=0)
        self._begun = 0 if is_new_fork else max((state.begun for state in states or ()), default=0)
        self._compaction: CompactionQueue | None = None
        if settings.compaction is not None:
            self._compaction = CompactionQueue(*settings.compaction, storage, self._format, self._compacted_place)
        if context.attempt > 0 or (states and not is_new_fork):
            self._remove_unknown_files([] if is_new_fork else states or [])
        for state in states or ():
            if state.subtask % context.parallelism == context.subtask:
                (self._fork if is_new_fork else self._take_over)(state)
        if type(self._policy).should_roll_on_processing_time is not RollingPolicy.should_roll_on_processing_time:
            context.schedule(context.now() + self._check_interval, self._check_time)

    def write(self, element: Any, timestamp: int | None) -> None:
        """Write one record."""
        self.write_run([element], None if timestamp is None else [timestamp])

    def write_run(self, elements: list[Any], timestamps: list[int] | None) -> None:
        """Write a run of records, all of a bucket at once."""
        if not elements:
            return
        now = self._context.now()
        if self._bucket_at is not None:
            self._write_to(self._bucket_at(now), elements, now)
            return
        context = BucketContext(now, self._context.current_watermark)
        get_bucket_id = self._assigner.get_bucket_id
        by_bucket: dict[str, list[Any]] = {}
        for number, element in enumerate(elements):
            context.record_time = None if timestamps is None else timestamps[number]
            bucket = get_bucket_id(element, context)
            if bucket is None:
                problem = "get_bucket_id() returned None, but it returns the directory of a record, a str."
                raise UnusableValueError(problem, get_bucket_id, element)
            by_bucket.setdefault(str(bucket), []).append(element)
        for bucket, its_elements in by_bucket.items():
            self._write_to(bucket, its_elements, now)

    def flush(self, *, end_of_input: bool) -> None:
        """Remember when no more records come: then all files are closed."""
        self._ended = end_of_input

    def prepare_commit(self) -> list[PendingPart]:
        """Close the files that roll now, make the others durable, and hand over those that are closed."""
        persisted = []
        for part in list(self._parts.values()):
            if self._ended or self._rolls_always or self._policy.should_roll_on_checkpoint(part):
                self._roll(part)
            else:
                persisted.append(part.persist())
        closed, self._closed = self._closed, []
        if self._compaction is not None:
            closed = self._compaction.exchange(closed, end_of_input=self._ended)
        closed = [*self._taken_over, *closed]
        self._taken_over = []
        self._persisted = tuple(persisted)
        hidden = [*(part.hidden for part in persisted), *(part.hidden for part in closed)]
        self._storage.keep_names({path.rpartition("/")[0] for path in hidden})
        return closed

    def snapshot_state(self, checkpoint_id: int) -> list[WriterState]:
        """Return where each open file ends, what waits for compaction, and the next number."""
        waiting = () if self._compaction is None else self._compaction.state()
        counts = self._next_number, self._begun
        return [WriterState(self._context.subtask, *counts, self._names.token, self._persisted, waiting, self._is_fork)]

    def close(self) -> None:
        """Let go of the open files; they keep their hidden names."""
        for part in self._parts.values():
            part.abandon()
        self._parts.clear()

    def _write_to(self, bucket: str, elements: list[Any], now: int) -> None:
        if self._limit is None:
            for element in elements:
                part = self._parts.get(bucket)
                if part is not None and self._policy.should_roll_on_event(part, element):
                    self._roll(part)
                    part = None
                part = part or self._begin(bucket, now)
                part.write([element], UNLIMITED)
                part.updated = now
            return
        while elements:
            part = self._parts.get(bucket)
            if part is not None and part.get_size() >= self._limit:
                self._roll(part)
                part = None
            part = part or self._begin(bucket, now)
            written = part.write(elements, self._limit)
            part.updated = now
            elements = elements[written:]

    def _begin(self, bucket: str, now: int) -> Part:
        place = self._free_place(bucket, now)
        part = self._format.part(place, self._storage.begin(place.hidden))
        self._parts[bucket] = part
        return part

    def _roll(self, part: Part) -> None:
        self._closed.append(part.close())
        del self._parts[part.get_bucket_id()]

    def _check_time(self, _: int) -> None:
        now = self._context.now()  # not the time that was asked for: the clock may have been set since
        for part in list(self._parts.values()):
            if self._policy.should_roll_on_processing_time(part, now):
                self._roll(part)
        if not self._ended:
            self._context.schedule(now + self._check_interval, self._check_time)

    def _free_place(self, bucket: str, now: int) -> OpenPart:
        """Return the place of a new file: one whose name no finished file has."""
        directory = f"{self._base_path}/{_checked(bucket)}" if bucket else self._base_path
        subtask = self._context.subtask
        name = self._names.finished(subtask, self._next_number)
        if self._is_taken(directory, name):
            # Another run of the program has written here; its files are never replaced.
            taken = [self._names.number_of_finished(each, subtask) for each in self._storage.names_in(directory)]
            self._next_number = max(number for number in taken if number is not None) + 1
            name = self._names.finished(subtask, self._next_number)
        self._next_number += 1
        return self._place(bucket, directory, name, now)

    def _compacted_place(self, first: PendingPart) -> OpenPart:
        """Return the place of what several files are made into; named after the first, it is read in its order."""
        directory, _, name = first.target.rpartition("/")
        return self._place(first.bucket, directory, self._names.compacted(name), self._context.now())

    def _place(self, bucket: str, directory: str, name: str, now: int) -> OpenPart:
        hidden = self._names.unfinished(name, self._context.subtask, self._begun)
        self._begun += 1
        target, alternative = f"{directory}/{name}", f"{directory}/{self._names.alternative(name, hidden)}"
        if self._is_fork and not self._storage.has_rename:
            target = alternative  # there, two that take a name at the same time do not find out
        return OpenPart(bucket, f"{directory}/{hidden}", target, 0, now, now, alternative=alternative)

    def _is_taken(self, directory: str, name: str) -> bool:
        names = [name] if self._compaction is None else [name, self._names.compacted(name)]
        return any(self._storage.size_of(f"{directory}/{each}") is not None for each in names)

    def _remove_unknown_files(self, states: list[WriterState]) -> None:
        """Remove the unfinished files that were begun after the checkpoint, by this subtask or one it stands for."""
        parallelism, subtask = self._context.parallelism, self._context.subtask
        # A subtask without a state is one of a run with more of them, which all began with the largest count.
        known = {state.subtask: state.begun for state in states}
        for path in list(self._storage.files_below(self._base_path)):
            place = self._names.place_of_unfinished(path.rpartition("/")[2])
            if place is None or place[0] % parallelism != subtask:
                continue
            if place[1] >= known.get(place[0], self._begun):
                self._storage.delete(path)

    def _take_over(self, state: WriterState) -> None:
        """Go on with the open files of a former subtask."""
        for place in state.open_parts:
            length = self._storage.size_of(place.hidden)
            if length is None or length < place.length:
                found = "is not there" if length is None else f"has only {length} bytes"
                problem = (
                    f"The file {place.hidden} was being written when the checkpoint was taken and had {place.length} "
                    f"bytes; now it {found}. If the job has finished it since as {place.target}, restore from a later "
                    "checkpoint: finished files are never changed."
                )
                raise StateRestoreError(problem, self._context.operator_id)
            self._go_on_with(self._continued(place), state)
        if self._compaction is not None:
            self._compaction.restore(state.waiting)
        else:
            self._closed.extend(part for _, parts in state.waiting for part in parts)

    def _go_on_with(self, part: Part, state: WriterState) -> None:
        if self._rolls_always or state.subtask != self._context.subtask:
            self._closed.append(part.close())
        else:
            self._parts[part.get_bucket_id()] = part

    def _fork(self, state: WriterState) -> None:
        """Begin with what a savepoint holds of a former subtask, and leave it to others who begin with it too."""
        for place in state.open_parts:
            if self._is_left(place.hidden, place.target, place.length):
                file = self._continued(place, shared=place.length)
                if self._compaction is None:
                    self._go_on_with(file, state)
                else:
                    self._taken_over.append(file.close())  # what is made of it would not be the same in each fork
        for part in (part for _, parts in state.waiting for part in parts):
            if self._is_left(part.hidden, part.target, part.size):
                directory, _, name = part.target.rpartition("/")
                copy = self._copied(self._place(part.bucket, directory, name, self._context.now()), part.hidden)
                self._taken_over.append(replace(copy, target=part.target, shared=part.size, replaces=self._over(part)))

    def _is_left(self, hidden: str, target: str, size: int) -> bool:
        """Tell whether an unfinished file of a savepoint is still one; else another fork has finished it."""
        length, finished = self._storage.size_of(hidden), self._storage.size_of(target)
        if length is not None and length >= size:
            return True
        if finished is not None and finished >= size:
            return False
        problem = f"The file {hidden} was unfinished when the savepoint was taken, with {size} bytes, and is not there."
        raise StateRestoreError(problem, self._context.operator_id)

    def _over(self, part: OpenPart | PendingPart) -> tuple[str, ...]:
        """Return the hidden files that are needed no longer; a job that was not stopped still has its own."""
        is_over = self._context.shared_savepoint in (None, CheckpointKind.STOP)
        return (*part.replaces, part.hidden) if is_over else ()

    def _copied(self, place: OpenPart, source: str) -> PendingPart:
        stream = self._storage.begin(place.hidden)
        with self._storage.read(source) as file:
            while data := file.read(_COPIED_AT_A_TIME):
                stream.write(data)
        stream.end()
        return place.closed(stream.tell())

    def _continued(self, place: OpenPart, shared: int = 0) -> Part:
        """Go on in a copy: a process of the attempt that failed may still be writing to the file itself."""
        directory, _, name = place.target.rpartition("/")
        copy = self._place(place.bucket, directory, name, place.updated)
        copy = replace(copy, created=place.created, replaces=self._over(place), shared=shared or place.shared)
        return self._format.part(copy, self._storage.resume(place.hidden, place.length, copy.hidden))


def _token(lineage: str, operator_id: str) -> str:
    return hashlib.sha256(f"{lineage}/{operator_id}".encode()).hexdigest()[:12]


def _checked(bucket: str) -> str:
    if bucket.startswith("/") or ".." in bucket.split("/"):
        message = f"The bucket {bucket!r} is not below the base path; a bucket assigner returns a path such as a/b."
        raise ProgramError(message)
    return bucket
