"""How values are written to and read from a stream of bytes."""

from penstock.vocabulary.types.serializer import TypeSerializer, VoidNamespaceSerializer

__all__ = ["TypeSerializer", "VoidNamespaceSerializer"]
