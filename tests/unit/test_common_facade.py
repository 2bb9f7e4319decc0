"""The modules of `penstock.common` and `penstock.metrics` have PyFlink's names."""

import importlib
import subprocess
import sys

import pytest

NAMES = {
    "penstock.common": (
        "Configuration ConfigOption ConfigOptions ExecutionConfig TypeInformation TypeSerializer Types "
        "SerializationSchema DeserializationSchema SimpleStringSchema ByteArraySchema Encoder CompletableFuture "
        "InputDependencyConstraint JobExecutionResult JobID JobStatus RestartStrategies "
        "RestartStrategyConfiguration Row RowKind WatermarkStrategy Duration Instant Time "
        "AssignerWithPeriodicWatermarksWrapper JobClient"
    ),
    "penstock.common.completable_future": "CompletableFuture",
    "penstock.common.config_options": "ConfigOption ConfigOptions",
    "penstock.common.configuration": "Configuration",
    "penstock.common.execution_config": "ExecutionConfig",
    "penstock.common.input_dependency_constraint": "InputDependencyConstraint",
    "penstock.common.job_client": "JobClient",
    "penstock.common.job_execution_result": "JobExecutionResult",
    "penstock.common.job_id": "JobID",
    "penstock.common.job_status": "JobStatus",
    "penstock.common.restart_strategy": "RestartStrategies RestartStrategyConfiguration",
    "penstock.common.serialization": (
        "SerializationSchema DeserializationSchema SimpleStringSchema ByteArraySchema Encoder BulkWriterFactory "
        "RowDataBulkWriterFactory RowFieldExtractorSchema"
    ),
    "penstock.common.serializer": "TypeSerializer VoidNamespaceSerializer",
    "penstock.common.time": "Duration Instant Time",
    "penstock.common.typeinfo": (
        "TypeInformation BasicType BasicTypeInfo InstantTypeInfo SqlTimeTypeInfo PrimitiveArrayTypeInfo "
        "BasicArrayTypeInfo ObjectArrayTypeInfo PickledBytesTypeInfo RowTypeInfo TupleTypeInfo DateTypeInfo "
        "TimeTypeInfo TimestampTypeInfo ListTypeInfo MapTypeInfo LocalTimeTypeInfo ExternalTypeInfo Types"
    ),
    "penstock.common.types": "Row RowKind",
    "penstock.common.watermark_strategy": ("WatermarkStrategy TimestampAssigner AssignerWithPeriodicWatermarksWrapper"),
    "penstock.metrics": "MetricGroup Metric Counter Meter Distribution",
    "penstock.metrics.metricbase": "MetricGroup Metric Counter Meter Distribution",
}


@pytest.mark.parametrize("module_name", sorted(NAMES))
def test_the_module_has_the_names_and_lists_them(module_name):
    module = importlib.import_module(module_name)
    for name in NAMES[module_name].split():
        assert hasattr(module, name), f"{module_name}.{name} is missing"
        assert name in module.__all__
    assert module.__all__ == sorted(module.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = importlib.import_module("penstock.common").Nothing


def test_importing_the_facade_imports_neither_spark_nor_the_api():
    program = (
        "import sys, penstock.common, penstock.metrics\n"
        "print([m for m in sys.modules if m.split('.')[0] in {'pyspark', 'pyarrow', 'py4j'}"
        " or m.startswith('penstock.api.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
