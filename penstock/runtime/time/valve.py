"""The event time of an operator with several input channels: the minimum over those that count.

A channel counts while it is active and aligned. An idle channel does not hold time back. A channel that comes back from
idleness counts again once its watermark has caught up with the time already reached, so that time never goes back.
"""

from __future__ import annotations

from penstock.runtime.exchange.elements import MIN_TIMESTAMP

__all__ = ["Channel", "WatermarkValve"]


class Channel:
    """What is known of one input channel."""

    __slots__ = ("is_aligned", "is_idle", "watermark")

    def __init__(self) -> None:
        self.watermark = MIN_TIMESTAMP
        self.is_idle = False
        self.is_aligned = True


class WatermarkValve:
    """Combines the watermarks and the idleness of all channels of an operator.

    The methods return what has to go on downstream: a new watermark or ``None``; a change of the status or ``None``.
    """

    def __init__(self, channels: int) -> None:
        self.channels = [Channel() for _ in range(channels)]
        self.watermark = MIN_TIMESTAMP
        self.is_idle = False

    def add_channel(self) -> bool | None:
        """Add a channel, behind the others, which holds time where it is; return the new status if it changed."""
        self.channels.append(Channel())
        was_idle, self.is_idle = self.is_idle, False
        return False if was_idle else None

    def begin_with(self, reached: int, watermarks: list[int]) -> None:
        """Start with the time that was reached, and with that of each channel; all channels are active."""
        self.watermark = reached
        for channel, watermark in zip(self.channels, watermarks, strict=True):
            channel.watermark = watermark
            channel.is_aligned = watermark >= reached

    def on_watermark(self, channel: int, timestamp: int) -> int | None:
        """Take a watermark of a channel; return the operator's new watermark if it advanced."""
        known = self.channels[channel]
        if self.is_idle or known.is_idle or timestamp <= known.watermark:
            return None
        known.watermark = timestamp
        if not known.is_aligned and timestamp >= self.watermark:
            known.is_aligned = True
        return self._minimum()

    def on_status(self, channel: int, *, is_idle: bool) -> tuple[int | None, bool | None]:
        """Take a status of a channel; return the new watermark and the new status, where they changed."""
        known = self.channels[channel]
        if known.is_idle == is_idle:
            return None, None
        known.is_idle = is_idle
        if not is_idle:
            known.is_aligned = known.watermark >= self.watermark
            was_idle, self.is_idle = self.is_idle, False
            return None, False if was_idle else None
        known.is_aligned = False
        if all(other.is_idle for other in self.channels):
            # Nobody is left to wait for: time may go as far as any channel had come.
            advanced = self._maximum() if known.watermark == self.watermark else None
            self.is_idle = True
            return advanced, True
        return (self._minimum() if known.watermark == self.watermark else None), None

    def _minimum(self) -> int | None:
        aligned = [channel.watermark for channel in self.channels if channel.is_aligned]
        return self._advance_to(min(aligned)) if aligned else None

    def _maximum(self) -> int | None:
        return self._advance_to(max(channel.watermark for channel in self.channels))

    def _advance_to(self, timestamp: int) -> int | None:
        if timestamp <= self.watermark:
            return None
        self.watermark = timestamp
        return timestamp
