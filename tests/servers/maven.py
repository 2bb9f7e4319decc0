"""Jars from Maven Central, fetched by whatever knows where that is: the Ivy in Spark, or Maven."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pyspark

from tests.servers.debian import CACHE, Unreachable

__all__ = ["jars_of"]

SPARK = Path(pyspark.__file__).parent


def jars_of(group: str, artifact: str, version: str) -> list[Path]:
    """Return an artifact and all it needs when it runs, from the cache if they are there already.

    Raises:
        Unreachable: Maven Central cannot be reached.
    """
    place = CACHE / f"{artifact}-{version}"
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{artifact}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs of the tests may start side by side
        if not place.exists():
            unfinished = place.with_name(f"{place.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            complaint = _with_spark(group, artifact, version, unfinished)
            if complaint:
                complaint += "; " + _with_maven(group, artifact, version, unfinished)
            if not any(unfinished.glob("*.jar")):
                message = f"{artifact} cannot be had from Maven Central: {complaint}"
                raise Unreachable(message)
            unfinished.rename(place)
    # Spark's Ivy leaves Scala's own library out, because Spark brings it along.
    return [*sorted(place.glob("*.jar")), *(SPARK / "jars").glob("scala-library-*.jar")]


def _with_spark(group: str, artifact: str, version: str, place: Path) -> str:
    """Have ``spark-submit`` resolve a package for a program that only prints its version; return what went wrong."""
    ivy = place / "ivy"
    package = f"{group}:{artifact}:{version}"
    command = [str(SPARK / "bin" / "spark-submit"), "--packages", package, "--conf", f"spark.jars.ivy={ivy}"]
    complaint = _run([*command, "--class", "org.apache.spark.deploy.SparkSubmit", "spark-internal", "--version"])
    if not complaint:
        for jar in (ivy / "jars").glob("*.jar"):
            jar.rename(place / jar.name)
    shutil.rmtree(ivy, ignore_errors=True)
    return complaint


def _with_maven(group: str, artifact: str, version: str, place: Path) -> str:
    if shutil.which("mvn") is None:
        return "there is no Maven"
    dependency = f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
    (place / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>jars</artifactId>"
        f"<version>1</version><dependencies><dependency>{dependency}</dependency></dependencies></project>",
        encoding="utf-8",
    )
    options = [f"-DoutputDirectory={place}", "-DincludeScope=runtime", "-f", str(place / "pom.xml")]
    return _run(["mvn", "-q", "-B", "dependency:copy-dependencies", *options])


def _run(command: list[str]) -> str:
    """Run a command; return why it failed, or nothing."""
    try:
        done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False, timeout=300)
    except subprocess.TimeoutExpired:
        return f"{Path(command[0]).name} does not answer"
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return f"{Path(command[0]).name} failed: {(lines or ['without saying why'])[-1]:.300}"
