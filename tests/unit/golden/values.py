"""One value of each class of Penstock that is stored: splits, states of writers, committables, records, windows."""

from __future__ import annotations

import pickle
from typing import Any

from penstock import CountWindow, GlobalWindow, MalformedRecordError, Row, RowKind, SourceSplit, TimeWindow
from penstock.connectors.files.sink.state import OpenPart, PendingPart, WriterState
from penstock.connectors.files.source.source import _Lane
from penstock.connectors.files.source.splits import FileSourceSplit
from penstock.connectors.kafka.deserialization import KafkaRecord
from penstock.connectors.kafka.message_run import KafkaProducerRecord
from penstock.connectors.kafka.source import PartitionSplit
from penstock.connectors.kafka.subscription import KafkaTopicPartition
from penstock.connectors.kafka.transaction import KafkaCommittable
from penstock.connectors.kafka.transactional_writer import WriterState as KafkaWriterState
from penstock.connectors.mysql.xa_branch import XaBranch
from penstock.connectors.mysql.xa_writer import XaWriterState
from penstock.connectors.random_records import GoodsOffer, GoodsOrder, UserEvent
from penstock.connectors.two_phase_commit import _Prepared
from penstock.connectors.write_ahead import _Batch
from penstock.errors import UserFunctionError
from penstock.vocabulary.functions.fields import FieldReducer
from penstock.vocabulary.sources.protocol import MalformedRecord
from penstock.vocabulary.windows.evictors import TimestampedValue
from penstock.vocabulary.windows.windows import TaggedUnion

__all__ = ["VALUES", "described"]

_ROW = Row(name="a", price=3)
_ROW.set_row_kind(RowKind.DELETE)
_PARTITION = KafkaTopicPartition("orders", 3)
_RUNS = [("orders", [b"a", None], [b"k", None], [1, 2], None, None)]
_PENDING = PendingPart("b", "/out/b/.part-0.x", "/out/b/part-0", 12, ("/out/b/.part-1.x",), "/out/b/part-0-2", 4)
_OPEN = OpenPart("b", "/out/b/.part-2.x", "/out/b/part-2", 7, 1000, 2000, (), "/out/b/part-2-2", 0)
_BRANCH = XaBranch("penstock-0123", 1, "run-7")
_FILE = FileSourceSplit("/in/a.txt", 0, 100, 100)

VALUES: dict[str, Any] = {
    "row": _ROW,
    "row-kind": RowKind.UPDATE_BEFORE,
    "time-window": TimeWindow(5, 10),
    "count-window": CountWindow(3),
    "global-window": GlobalWindow(),
    "timestamped-value": TimestampedValue("a", 7),
    "tagged-union": TaggedUnion(True, "a"),
    "malformed-record": MalformedRecord("in/a.csv", 17, b"x,", "too short"),
    "field-reducer": FieldReducer("sum", 1, None),
    "user-function-error": UserFunctionError(step="map", function="f", error="no", user_traceback="", record="1"),
    "source.split": SourceSplit("split 0", {"from": 1}),
    "data-generator.user-event": UserEvent(*range(len(UserEvent._fields))),
    "data-generator.goods-offer": GoodsOffer(*range(len(GoodsOffer._fields))),
    "data-generator.goods-order": GoodsOrder(*range(len(GoodsOrder._fields))),
    "file-source.split": _FILE,
    "file-source.lane": {"splits": {0: SourceSplit("a", _Lane((_FILE,), 2))}, "positions": {"a": (0, 17)}, "times": {}},
    "kafka-source.split": PartitionSplit(_PARTITION, 5, None),
    "kafka-source.record": KafkaRecord(*range(len(KafkaRecord._fields))),
    "kafka.topic-partition": _PARTITION,
    "kafka.producer-record": KafkaProducerRecord("orders", b"v", b"k"),
    "file-sink.pending-part": _PENDING,
    "file-sink.open-part": _OPEN,
    "file-sink.writer": {
        "subtask": 0,
        "states": [WriterState(0, 3, 4, "token", (_OPEN,), ((1, (_PENDING,)),), True)],
        "committables": [_PENDING],
    },
    "kafka-sink.committable": KafkaCommittable("id-0-1", "lineage", 2, "orders", pickle.dumps(_RUNS, 5)),
    "kafka-sink.writer": {"subtask": 0, "states": [KafkaWriterState(0, 2, 5)], "committables": []},
    "mysql-sink.branch": _BRANCH,
    "mysql-sink.writer": {"subtask": 1, "states": [XaWriterState(1, (_BRANCH,))], "committables": [_BRANCH]},
    "two-phase-commit.prepared": _Prepared({"id": 7}, 1000),
    "write-ahead.batch": _Batch(0, 1000, ["a", ("b", 1)], 3, "job"),
    "MalformedRecordError": MalformedRecordError("in/a.csv", 17, b"x,", "too short"),
}
"""By stored name; the last one is stored by its public name."""


def described(value: Any) -> Any:
    """Return what can be compared with the description of another value."""
    if isinstance(value, BaseException):
        return type(value), str(value)
    if isinstance(value, FieldReducer):
        return type(value), vars(value)["kind"], vars(value)["position"]
    if isinstance(value, Row):
        return type(value), value, value.get_row_kind()
    return type(value), value, repr(value)
