"""How long the content of a state lives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from penstock.errors import ProgramError
from penstock.vocabulary.settings.refused_options import refuse
from penstock.vocabulary.time.durations import Duration, to_millis

if TYPE_CHECKING:
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["StateTtlConfig"]


class StateTtlConfig:
    """Says after which time a value, list element or map entry expires and who still sees it."""

    class UpdateType(Enum):
        """Says which access starts the lifetime again."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Says whether expired content that is still stored is returned."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """Says by which clock content expires."""

        ProcessingTime = 0

    class CleanupStrategies:
        """Says how expired content leaves the store, besides being removed when it is read."""

        class Strategies(Enum):
            """Names the ways of cleaning up."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy:
            """Is the root of the ways of cleaning up."""

        @dataclass(frozen=True)
        class EmptyCleanupStrategy(CleanupStrategy):
            """Is a way of cleaning up without parameters."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Looks at a few entries on each access, in the heap backend."""

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:  # noqa: FBT001
                """Check ``cleanup_size`` entries per access and, if asked, per record too."""
                if cleanup_size <= 0:
                    msg = f"The number of entries checked per access must be positive, not {cleanup_size}."
                    raise ProgramError(msg)
                self._cleanup_size = cleanup_size
                self._run_cleanup_for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """Return how many entries are checked at a time."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Return whether every record triggers a check, even without access to the state."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Drops expired entries when RocksDB compacts its files."""

            def __init__(
                self, query_time_after_num_entries: int, periodic_compaction_time: TimeLength | None = None
            ) -> None:
                """Read the clock once per so many entries; a time between compactions is refused."""
                if periodic_compaction_time is not None:
                    refuse("state.backend.rocksdb.compaction.filter.periodic-compaction-time")
                self._query_time_after_num_entries = query_time_after_num_entries

            def get_query_time_after_num_entries(self) -> int:
                """Return after how many entries the clock is read again."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> TimeLength:
                """Return Flink's 30 days; no other time can be asked for, because RocksDB does not clean up."""
                return Duration.of_days(30)

        def __init__(
            self,
            strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies, StateTtlConfig.CleanupStrategies.CleanupStrategy
            ],
            is_cleanup_in_background: bool,  # noqa: FBT001
        ) -> None:
            """Collect the chosen strategies."""
            self._strategies = dict(strategies)
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Return whether the backend cleans up by itself with its usual strategy."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """Return whether expired content is left out of full snapshots."""
            return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy | None:
            """Return the incremental strategy, 5 entries per access unless set; None if switched off."""
            chosen = self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP)
            if isinstance(chosen, StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy):
                return chosen
            return self.IncrementalCleanupStrategy(5, False) if self._is_cleanup_in_background else None  # noqa: FBT003

        def get_rocksdb_compact_filter_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy | None:
            """Return the compaction strategy, 1000 entries per clock reading unless set; None if switched off."""
            chosen = self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER)
            if isinstance(chosen, StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy):
                return chosen
            return self.RocksdbCompactFilterCleanupStrategy(1000) if self._is_cleanup_in_background else None

    class Builder:
        """Builds a StateTtlConfig step by step."""

        def __init__(self, ttl: TimeLength) -> None:
            """Start with Flink's choices: renewed on write, never returned expired, cleaned in the background."""
            self._ttl = ttl
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._state_visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._ttl_time_characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._is_cleanup_in_background = True
            self._strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies, StateTtlConfig.CleanupStrategies.CleanupStrategy
            ] = {}

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """Set which access starts the lifetime again."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Start the lifetime again on write only."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Start the lifetime again on read and on write."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(self, state_visibility: StateTtlConfig.StateVisibility) -> StateTtlConfig.Builder:
            """Set whether expired content that is still stored is returned."""
            self._state_visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Return expired content as long as it is stored."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Hide expired content."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """Set the clock by which content expires."""
            self._ttl_time_characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Let content expire by the machine's clock."""
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Leave expired content out of full snapshots."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.FULL_STATE_SCAN_SNAPSHOT] = strategies.EmptyCleanupStrategy()
            return self

        def cleanup_incrementally(
            self,
            cleanup_size: int,
            run_cleanup_for_every_record: bool,  # noqa: FBT001
        ) -> StateTtlConfig.Builder:
            """Check a few entries on each access, in the heap backend."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.INCREMENTAL_CLEANUP] = strategies.IncrementalCleanupStrategy(
                cleanup_size, run_cleanup_for_every_record
            )
            return self

        def cleanup_in_rocksdb_compact_filter(
            self, query_time_after_num_entries: int, periodic_compaction_time: TimeLength | None = None
        ) -> StateTtlConfig.Builder:
            """Drop expired entries of RocksDB; a time between compactions is refused, as records drive it."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.ROCKSDB_COMPACTION_FILTER] = (
                strategies.RocksdbCompactFilterCleanupStrategy(query_time_after_num_entries, periodic_compaction_time)
            )
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Clean up only by the strategies named explicitly and on reading."""
            self._is_cleanup_in_background = False
            return self

        def set_ttl(self, ttl: TimeLength) -> StateTtlConfig.Builder:
            """Set the lifetime."""
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            """Return the config."""
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._ttl_time_characteristic,
                self._ttl,
                StateTtlConfig.CleanupStrategies(self._strategies, self._is_cleanup_in_background),
            )

    def __init__(
        self,
        update_type: StateTtlConfig.UpdateType,
        state_visibility: StateTtlConfig.StateVisibility,
        ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic,
        ttl: TimeLength,
        cleanup_strategies: StateTtlConfig.CleanupStrategies,
    ) -> None:
        """Collect the choices; ``new_builder`` is the easier way."""
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup_strategies = cleanup_strategies
        self.ttl_millis = to_millis(ttl)
        if self.ttl_millis <= 0:
            msg = f"The time to live of a state must be at least one millisecond, not {ttl!r}."
            raise ProgramError(msg)

    @staticmethod
    def new_builder(ttl: TimeLength) -> StateTtlConfig.Builder:
        """Start a config with a lifetime."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> StateTtlConfig.UpdateType:
        """Return which access starts the lifetime again."""
        return self._update_type

    def get_state_visibility(self) -> StateTtlConfig.StateVisibility:
        """Return whether expired content that is still stored is returned."""
        return self._state_visibility

    def get_ttl(self) -> TimeLength:
        """Return the lifetime as it was given."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> StateTtlConfig.TtlTimeCharacteristic:
        """Return the clock by which content expires."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Return whether content expires at all."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> StateTtlConfig.CleanupStrategies:
        """Return how expired content leaves the store."""
        return self._cleanup_strategies
