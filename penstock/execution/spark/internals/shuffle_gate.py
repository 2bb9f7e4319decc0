"""Keeps strangers off the network servers of a local session.

Spark's streaming shuffle starts a server for every writing task on all addresses and asks nobody for a proof: a few
bytes from anywhere make the job fail. ``gate/`` holds a few Java classes that Netty asks about every channel; they bind
these servers to Spark's own address, and have both ends of a connection prove that they are in the same JVM.

- ``StreamingShuffleWriter.startShuffleServer`` (core/.../shuffle/streaming/StreamingShuffleWriter.scala): a
  ``TransportServer`` without host and bootstraps.
- ``TransportServer``, ``TransportClientFactory``, ``TransportChannelHandler`` (common/network-common/.../): the
  handlers by which channels of Spark are told from others.
- ``io.netty.bootstrap.ChannelInitializerExtensions`` (Netty 4.2): the list that the classes are put into.
- ``SecurityManager.getSecretKey`` (core/.../SecurityManager.scala): the secret that executors share.
- ``SparkContext._jvm`` and ``SparkContext._gateway`` (python/pyspark/core/context.py): loading them into the JVM.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["gate_on_executors", "install_gate", "is_gate_installed"]

_log = logging.getLogger("penstock.session")

_JAR = Path(__file__).with_name("gate") / "gate.jar"


def install_gate() -> None:
    """Guard the servers of local sessions in this process's JVM.

    All servers of a session that is started from now on, and the shuffle's of one that runs already.
    """
    if is_gate_installed():
        return
    jvm: Any = SparkContext._jvm
    gateway: Any = SparkContext._gateway
    try:
        addresses = gateway.new_array(jvm.java.net.URL, 1)
        addresses[0] = jvm.java.io.File(str(_JAR)).toURI().toURL()
        parent = jvm.Thread.currentThread().getContextClassLoader()
        gate = jvm.java.net.URLClassLoader(addresses, parent).loadClass("penstock.Gate")
        gate.getMethod("install", gateway.new_array(jvm.Class, 0)).invoke(None, gateway.new_array(jvm.Object, 0))
    except Py4JError as error:
        _log.warning("the ports of the Spark session are not guarded against strangers: %s", error)


def gate_on_executors(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings by which executors of a session that is to be started guard the shuffle between them.

    They need a secret in common, which they have where ``spark.authenticate`` is on.
    """
    if settings.get("spark.authenticate", "false").lower() != "true":
        return {}
    if SparkContext._gateway is not None or not _JAR.is_file():
        _log.warning("the shuffle between executors is not guarded: its classes cannot be given to the driver's JVM")
        return {}
    added = {"spark.plugins": "penstock.GatePlugin", "spark.jars": str(_JAR)}
    return {key: ",".join(filter(None, (settings.get(key), value))) for key, value in added.items()}


def is_gate_installed() -> bool:
    """Tell whether the servers of local sessions in this process's JVM are guarded."""
    jvm: Any = SparkContext._jvm
    return jvm is not None and jvm.java.lang.System.getProperty("penstock.gate") is not None
