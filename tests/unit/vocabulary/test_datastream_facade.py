"""The facade gives out vocabulary at once and the fluent API on demand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import penstock.datastream
from penstock.api.data_stream import DataStream
from penstock.vocabulary.functions.process import KeyedProcessFunction


def test_vocabulary_and_api_are_found_under_pyflinks_names() -> None:
    assert penstock.datastream.KeyedProcessFunction is KeyedProcessFunction
    assert penstock.datastream.DataStream is DataStream


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchStream"):
        _ = penstock.datastream.NoSuchStream


def test_the_vocabulary_alone_loads_no_api() -> None:
    script = "import sys, penstock.datastream.functions; print('penstock.api' in sys.modules)"
    root = Path(penstock.datastream.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "False"
