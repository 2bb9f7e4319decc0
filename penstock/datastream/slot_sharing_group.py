"""Slot sharing groups, at the place PyFlink gives them."""

from penstock.vocabulary.settings.slots import MemorySize, SlotSharingGroup

__all__ = ["MemorySize", "SlotSharingGroup"]
