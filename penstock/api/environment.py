"""The entry to everything: sources in, ``execute`` out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.api.argument_checks import check_function, location, step_name
from penstock.api.data_stream import DataStream
from penstock.api.environment_settings import EnvironmentSettings
from penstock.api.job_client import JobClient
from penstock.api.launch import PlanOnly, is_plan_only, launch_configuration
from penstock.connectors.collection import CollectionSource
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.errors import ProgramError
from penstock.graph.batch_mode import choose_mode, for_batch
from penstock.graph.explain import explain, plan_json
from penstock.graph.guarantee import GUARANTEE_OPTION, check_guarantee, end_to_end
from penstock.graph.ingestion_time import stamp_sources
from penstock.graph.job import Job
from penstock.graph.nodes import Graph, Upstream
from penstock.graph.plan import make_plan
from penstock.graph.settings import DEFAULT_SORT_MEMORY, JobSettings
from penstock.graph.steps import SourceFunctionStep, SourceStep
from penstock.graph.validate import validate
from penstock.vocabulary.job import JobExecutionResult, JobID
from penstock.vocabulary.settings.checkpoints import CheckpointConfig
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.settings.modes import RuntimeExecutionMode, TimeCharacteristic
from penstock.vocabulary.sources.functions import ParallelSourceFunction, SourceFunction
from penstock.vocabulary.sources.protocol import Source
from penstock.vocabulary.time.strategy import WatermarkStrategy
from penstock.vocabulary.types.rows import Row

if TYPE_CHECKING:
    from penstock.connectors.files.formats.bulk import BulkFormat
    from penstock.connectors.files.formats.stream import StreamFormat
    from penstock.execution.spark.batch.job_run import BatchRun
    from penstock.execution.spark.driver.job_run import JobRun
    from penstock.vocabulary.time.durations import Duration

__all__ = ["StreamExecutionEnvironment"]

T = TypeVar("T")

_DEFAULT_NAME = "Flink Streaming Job"


class StreamExecutionEnvironment(EnvironmentSettings):
    """Holds the graph of a program and runs it on Spark.

    Example:
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> lines = env.from_collection(["to be", "or not to be"])
        >>> counts = lines.flat_map(str.split).map(lambda word: (word, 1)).key_by(0).sum(1)
        >>> print(counts.get_name())
        Sum
    """

    def __init__(self, configuration: Configuration | None = None, *, spark_session: Any = None) -> None:
        super().__init__(configuration or Configuration())
        self.graph = Graph(parallelism=self.get_parallelism)
        self._first_pending = 1
        self._spark_session = spark_session

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None, *, spark_session: Any = None
    ) -> StreamExecutionEnvironment:
        """Return an environment with the settings of the configuration file, the command line and the configuration.

        A ``SparkSession`` given here (or one that is active when the job starts) runs the job; else a local one is
        created.
        """
        settings = launch_configuration()
        if configuration is not None:
            settings.add_all(configuration)
        return StreamExecutionEnvironment(settings, spark_session=spark_session)

    # -- sources

    def from_collection(self, collection: Iterable[T], type_info: Any = None) -> DataStream[T]:
        """Return a stream of the elements of a collection, in order, with parallelism 1."""
        if isinstance(collection, (str, bytes)) or not isinstance(collection, Iterable):
            message = f"from_collection() needs a list or another iterable of records, not {collection!r:.60}."
            raise ProgramError(message, location())
        return self._source("Collection Source", SourceStep(source=CollectionSource(collection)), 1, type_info)

    def from_elements(self, *elements: T) -> DataStream[T]:
        """Return a stream of the given elements, in order, with parallelism 1."""
        return self.from_collection(elements)

    def from_sequence(self, start: int, end: int) -> DataStream[int]:
        """Return a stream of the numbers from ``start`` to ``end``, both included."""
        if end < start - 1:
            message = f"from_sequence({start}, {end}): the end must not lie before the start."
            raise ProgramError(message, location())
        return self._source("Sequence Source", SourceStep(source=NumberSequenceSource(start, end)), None, None)

    def from_source(
        self, source: Source[T], watermark_strategy: WatermarkStrategy, source_name: str, type_info: Any = None
    ) -> DataStream[T]:
        """Return the stream of a source; the strategy is applied to each of its splits."""
        check_function(source, Source, "from_source", allow_callable=False)
        check_function(watermark_strategy, WatermarkStrategy, "from_source", allow_callable=False)
        step = SourceStep(source=source, strategy=watermark_strategy)
        return self._source(source_name, step, None if source.is_parallel else 1, type_info)

    def add_source(
        self, source_func: Any, source_name: str = "Custom Source", type_info: Any = None
    ) -> DataStream[Any]:
        """Return the stream of a ``SourceFunction``; only a ``ParallelSourceFunction`` has a parallelism above 1."""
        if isinstance(source_func, Source):  # older programs hand over connectors in this way
            return self.from_source(source_func, WatermarkStrategy.no_watermarks(), source_name, type_info)
        check_function(source_func, SourceFunction, "add_source", allow_callable=False)
        parallelism = None if isinstance(source_func, ParallelSourceFunction) else 1
        name = step_name("Source", source_func) if source_name == "Custom Source" else source_name
        return self._source(name, SourceFunctionStep(function=source_func), parallelism, type_info)

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream[str]:
        """Return the lines of a text file, of all files of a directory, or of those that fit a pattern."""
        # Imported here, as few programs need each of these sources.
        from penstock.connectors.files.formats.stream import TextLineFormat

        return self.read_file(TextLineFormat(charset_name), file_path)

    def read_file(
        self, input_format: StreamFormat[Any] | BulkFormat[Any], file_path: str, interval: Duration | None = None
    ) -> DataStream[Any]:
        """Return the records of files in any format; with an interval, the directory is watched for new ones."""
        from penstock.connectors.files.formats.bulk import BulkFormat
        from penstock.connectors.files.source.source import FileSource

        is_bulk = isinstance(input_format, BulkFormat)
        begin = FileSource.for_bulk_file_format if is_bulk else FileSource.for_record_stream_format
        builder = begin(input_format, file_path)  # type: ignore[arg-type]
        if interval is not None:
            builder = builder.monitor_continuously(interval)
        return self._source("File Source", SourceStep(source=builder.build()), None, None)

    def socket_text_stream(self, host: str, port: int, delimiter: str = "\n", max_retry: int = 0) -> DataStream[str]:
        """Return the lines that a server sends, with parallelism 1; what a failure loses cannot be read again."""
        from penstock.connectors.socket_text import SocketTextSource

        source = SocketTextSource(host, port, delimiter, max_retry)
        return self._source("Socket Stream", SourceStep(source=source), 1, None)

    def from_data_frame(
        self,
        data_frame: Any,
        record_type: Callable[..., Any] = Row,
        *,
        directory: str | None = None,
        keep_files: bool = False,
    ) -> DataStream[Any]:
        """Return the rows of a batch DataFrame of Spark, as ``Row``, ``dict``, ``tuple`` or objects of your own class.

        When the job starts, the rows are stored as Parquet files below a directory that all executors can read, so that
        they can be read again after a failure. Without a directory it is a temporary one, where all of Spark runs on
        this machine. The files are removed when the program ends, unless they are to be kept.
        """
        from penstock.connectors.data_frame import DataFrameSource
        from penstock.execution.spark.driver.stored_data_frame import StoredDataFrame

        store = StoredDataFrame(data_frame, directory, keep_files=keep_files)
        source = DataFrameSource(store, record_type=record_type)
        return self._source("Data Frame Source", SourceStep(source=source), None, None)

    def _source(self, name: str, step: Any, parallelism: int | None, type_info: Any) -> DataStream[Any]:
        node = self.graph.add(
            name,
            step,
            location=location(),
            parallelism=parallelism,
            is_parallelism_fixed=parallelism == 1,
            output_type=type_info,
        )
        return DataStream(self, (Upstream(node.id),))

    # -- running

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the job on Spark and wait for its end; raises what made it fail. Ctrl-C cancels it."""
        run = self._start(job_name)
        try:
            return run.wait()
        except KeyboardInterrupt:
            run.cancel()
            raise

    def execute_async(self, job_name: str = _DEFAULT_NAME) -> JobClient:
        """Start the job on Spark and return at once."""
        return JobClient(self._start(job_name))

    def get_execution_plan(self) -> str:
        """Return the graph as JSON, in Flink's form."""
        return plan_json(self._pending(), self._settings(None))

    def explain(self) -> str:
        """Return the plan as text: stages, chains, exchanges and the slots they need."""
        settings = self._settings(None)
        graph = self._pending()
        validate(graph, settings, config=self._config, checkpoints=self._checkpoint_config)
        is_batch = choose_mode(graph, self._runtime_mode) is RuntimeExecutionMode.BATCH
        guarantees = end_to_end(graph, self._checkpoint_config, is_batch=is_batch)
        return "\n".join(
            [explain(graph, settings, is_batch=is_batch), *(f"Guarantee: {guarantee}" for guarantee in guarantees)]
        )

    def close(self) -> None:
        """Stop the Spark session, if this environment created it."""
        if self._spark_session is None:
            from penstock.execution.spark.driver.session import stop_own_session

            stop_own_session()

    def _settings(self, job_name: str | None) -> JobSettings:
        max_parallelism = self.get_max_parallelism()
        return JobSettings(
            name=job_name or self._configuration.get_string("pipeline.name", None) or _DEFAULT_NAME,
            parallelism=self.get_parallelism(),
            max_parallelism=max_parallelism if max_parallelism > 0 else None,
            is_chaining_enabled=self._is_chaining_enabled,
            buffer_timeout=self._buffer_timeout,
            options=self._configuration.to_dict(),
            sort_memory=self._configuration.get_memory_size("execution.sorted-inputs.memory", DEFAULT_SORT_MEMORY),
        )

    def _build_job(self, job_name: str | None) -> Job:
        """Check what was added since the last job and turn it, with all it reads from, into a job."""
        settings = self._settings(job_name)
        graph = self._pending()
        is_batch = choose_mode(graph, self._runtime_mode) is RuntimeExecutionMode.BATCH
        checkpoints = CheckpointConfig() if is_batch else self._checkpoint_config
        validate(graph, settings, config=self._config, checkpoints=checkpoints)
        required = self._configuration.get_string(GUARANTEE_OPTION, None)
        guarantees = check_guarantee(graph, checkpoints, required, is_batch=is_batch)
        if is_batch:
            self._check_batch()
            graph = for_batch(graph)
        job = Job(
            id=JobID.generate().to_hex_string(),
            plan=make_plan(graph, settings, ends_with_sinks=is_batch),
            settings=settings,
            execution_config=self._config,
            checkpoints=checkpoints,
            state_backend=self._state_backend,
            savepoint_directory=self._savepoint_directory,
            restore_path=self._restore_path,
            allows_non_restored_state=self._allows_non_restored_state,
            renamed_classes=dict(self._renamed_classes),
            claim_mode=self._claim_mode,
            guarantees=tuple(map(str, guarantees)),
            notes=self._mode_notes(is_batch=is_batch),
            is_batch=is_batch,
        )
        self._first_pending = len(self.graph) + 1
        return job

    def _check_batch(self) -> None:
        if self._restore_path is not None:
            message = (
                f"A job in BATCH mode cannot start from a checkpoint or savepoint ({self._restore_path}): it keeps no"
                " state from one run to the next. Set the runtime mode to STREAMING."
            )
            raise ProgramError(message, location())

    def _mode_notes(self, *, is_batch: bool) -> tuple[str, ...]:
        notes = []
        if self._runtime_mode is RuntimeExecutionMode.AUTOMATIC:
            why = "all sources are bounded" if is_batch else "a source is unbounded"
            notes.append(f"runs in {'BATCH' if is_batch else 'STREAMING'} mode, because {why}")
        if is_batch and self._checkpoint_config.is_checkpointing_enabled():
            notes.append("takes no checkpoints: in BATCH mode lost parts are computed again")
        return tuple(notes)

    def _pending(self) -> Graph:
        graph = self.graph.since(self._first_pending)
        is_ingestion_time = self.get_stream_time_characteristic() is TimeCharacteristic.IngestionTime
        return stamp_sources(graph) if is_ingestion_time else graph

    def _start(self, job_name: str | None) -> JobRun | BatchRun:
        if is_plan_only():
            raise PlanOnly(self.get_execution_plan())
        job = self._build_job(job_name)
        # Imported here, so that building a program needs no Spark.
        from penstock.execution.spark.driver.job_run import start_job

        return start_job(job, session=self._spark_session, python_files=self._python_files)

    def _start_collecting(self, job_name: str | None, collection: str) -> tuple[JobClient, Iterator[Any]]:
        run = self._start(job_name)
        return JobClient(run), run.collected(collection)
