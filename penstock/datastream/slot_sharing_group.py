"""Slot sharing groups, at the place PyFlink gives them."""

from penstock.vocabulary.slot_sharing_group import MemorySize, SlotSharingGroup

__all__ = ["MemorySize", "SlotSharingGroup"]
