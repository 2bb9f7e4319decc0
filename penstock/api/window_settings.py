"""What can be set for windows of every kind: trigger, evictor, lateness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from penstock.api.argument_checks import check_function, location, window_trigger
from penstock.errors import ProgramError
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.time.durations import to_millis
from penstock.vocabulary.windows.assigners import MergingWindowAssigner, WindowAssigner
from penstock.vocabulary.windows.evictors import Evictor
from penstock.vocabulary.windows.triggers import Trigger

if TYPE_CHECKING:
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["WindowSettings"]


class WindowSettings:
    """The settings of windows. In joins and co-groups, all that sees records sees them as ``TaggedUnion``."""

    def __init__(self, window_assigner: Any) -> None:
        check_function(window_assigner, WindowAssigner, "window", allow_callable=False)
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._lateness = 0
        self._late_tag: OutputTag[Any] | None = None

    def trigger(self, trigger: Any) -> Self:
        """Set when windows fire, instead of the assigner's own rule."""
        self._trigger = check_function(trigger, Trigger, "trigger", allow_callable=False)
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            message = f"{type(trigger).__name__} cannot be used with windows that merge: its can_merge() is false."
            raise ProgramError(message, location())
        return self

    def evictor(self, evictor: Any) -> Self:
        """Set which elements are removed before or after the window function; the window then keeps all of them."""
        self._evictor = check_function(evictor, Evictor, "evictor", allow_callable=False)
        return self

    def allowed_lateness(self, time_ms: TimeLength) -> Self:
        """Keep windows for this long after the watermark has passed them; each late element fires its window again."""
        lateness = to_millis(time_ms)
        if lateness < 0:
            message = f"The allowed lateness must not be negative, but is {time_ms!r}."
            raise ProgramError(message, location())
        self._lateness = lateness
        return self

    def side_output_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send elements that are too late to a side output of the result stream, instead of dropping them."""
        self._late_tag = check_function(output_tag, OutputTag, "side_output_late_data", allow_callable=False)
        return self

    def _window_settings(self, environment: Any) -> dict[str, Any]:
        """Return the settings as a step takes them."""
        return {
            "assigner": self._assigner,
            "trigger": window_trigger(self._assigner, self._trigger, environment),
            "evictor": self._evictor,
            "allowed_lateness": self._lateness,
            "late_tag": self._late_tag,
        }
