"""The page of all options, made from the tables in the package: ``python -m tests.architecture.options_page``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.vocabulary.settings.known_options import KNOWN_OPTIONS, KNOWN_PREFIXES, KnownOption
from penstock.vocabulary.settings.refused_options import FOREIGN_PREFIXES, REFUSED_OPTIONS
from tests.architecture.source_tree import ROOT

PAGE = ROOT / "docs" / "reference" / "options.md"
SECTIONS = {
    "The job": (
        "parallelism.",
        "pipeline.",
        "execution.runtime-mode",
        "execution.sorted-inputs",
        "execution.buffer-timeout",
        "python.",
        "task.",
    ),
    "Checkpoints and savepoints": ("execution.checkpointing.", "execution.state-recovery."),
    "Restarts": ("restart-strategy.",),
    "State": ("state.",),
    "Operating jobs": ("rest.", "web.", "penstock.rest.", "penstock.registry."),
    "Penstock's own": (
        "penstock.guarantee",
        "penstock.max-record-size",
        "penstock.no-output",
        "penstock.renamed-classes",
    ),
}
HEAD = """# Options

All keys that a configuration can hold: in the file `penstock-conf.yaml`, on the command line (`-D key=value`), in the
`Configuration` of an environment, or in `env.configure(...)`. See [Deploying](../guides/deploying.md#configuration) for
which of them wins. Durations are written as `10 s`, `200 ms` or a plain number of milliseconds, memory sizes as
`64 mb` or a plain number of bytes. This page is made from the code.

A key that does nothing is told in the log (`penstock.configuration`), with the nearest one that does. Keys that begin
like none of Flink's are your own and are let alone. To hand parameters to functions, use
`pipeline.global-job-parameters`:

```python
from penstock import Configuration, StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment(
    Configuration.from_dict({"parallelism.default": 2, "pipeline.global-job-parameters": "threshold:3"})
)
print(env.get_parallelism(), env.get_config().get_global_job_parameters())
```

<!-- output -->
```text
2 {'threshold': '3'}
```
"""
REFUSED = """
## Refused

These options of Flink would change what a job does or costs, and cannot be had here. A job that sets them to another
value than those in the last column is refused, with the reason.

| Key | Why | Accepted |
|---|---|---|
"""
FOREIGN = """
## Without effect

Keys that begin so are told in the log and do nothing: a file that was made for Flink may hold them.

| Keys | Why |
|---|---|
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, beginnings in SECTIONS.items():
        options = [option for option in KNOWN_OPTIONS.values() if option.key.startswith(beginnings)]
        parts.append(f"\n## {title}\n\n| Key | Value | If not set | Meaning |\n|---|---|---|---|\n")
        parts.extend(_rows(options))
    parts.append("\n## Families of keys\n\n| Keys | Meaning |\n|---|---|\n")
    parts.extend(f"| `{prefix}*` | {meaning} |\n" for prefix, meaning in KNOWN_PREFIXES.items())
    parts.append(REFUSED)
    for refused in REFUSED_OPTIONS.values():
        fine = ", ".join(f"`{value}`" for value in refused.fine) or "none"
        parts.append(f"| `{refused.key}` | {refused.reason} | {fine} |\n")
    parts.append(FOREIGN)
    for reason in dict.fromkeys(FOREIGN_PREFIXES.values()):
        keys = ", ".join(f"`{prefix}*`" for prefix, why in FOREIGN_PREFIXES.items() if why == reason)
        parts.append(f"| {keys} | {reason[0].upper()}{reason[1:].rstrip('.')}. |\n")
    return "".join(parts)


def _rows(options: Iterable[KnownOption]) -> Iterator[str]:
    for option in options:
        older = f" Older: {', '.join(f'`{key}`' for key in option.older)}." if option.older else ""
        yield f"| `{option.key}` | {option.kind} | {option.usual} | {option.meaning}{older} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
