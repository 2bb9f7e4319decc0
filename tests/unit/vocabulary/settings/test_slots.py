"""Memory sizes and slot sharing groups."""

import pickle

import pytest

from penstock.vocabulary.settings.slots import MemorySize, SlotSharingGroup


def test_a_memory_size_is_read_in_every_unit():
    size = MemorySize((1 << 40) + (1 << 30))
    assert size.get_bytes() == 1_100_585_369_600
    assert size.get_kibi_bytes() == 1_074_790_400
    assert size.get_mebi_bytes() == 1_049_600
    assert size.get_gibi_bytes() == 1_025
    assert size.get_tebi_bytes() == 1


def test_memory_sizes_compare_and_show_themselves():
    assert MemorySize.of_mebi_bytes(1) == MemorySize(1_048_576)
    assert hash(MemorySize.of_mebi_bytes(1)) == hash(MemorySize(1_048_576))
    assert MemorySize(1) < MemorySize(2) <= MemorySize(2)
    assert str(MemorySize.of_mebi_bytes(100)) == "100 mb"
    assert str(MemorySize.of_mebi_bytes(2_048)) == "2 gb"
    assert str(MemorySize(1_025)) == "1025 bytes"
    with pytest.raises(ValueError, match="0 or more"):
        MemorySize(-1)


def test_a_group_has_the_resources_its_builder_gathered():
    group = (
        SlotSharingGroup.builder("io")
        .set_cpu_cores(1.5)
        .set_task_heap_memory_mb(100)
        .set_task_off_heap_memory(MemorySize.of_mebi_bytes(200))
        .set_managed_memory_mb(300)
        .set_external_resource("gpu", 1)
        .build()
    )
    assert group.get_name() == "io"
    assert group.get_cpu_cores() == 1.5
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(100)
    assert group.get_task_off_heap_memory() == MemorySize.of_mebi_bytes(200)
    assert group.get_managed_memory() == MemorySize.of_mebi_bytes(300)
    assert group.get_external_resources() == {"gpu": 1.0}
    twin = pickle.loads(pickle.dumps(group))
    assert twin == group
    assert hash(twin) == hash(group)


def test_a_group_without_resources_is_only_a_name():
    group = SlotSharingGroup.builder("io").build()
    assert group.get_cpu_cores() is None
    assert group.get_task_heap_memory() is None
    assert group.get_task_off_heap_memory() is None
    assert group.get_managed_memory() is None
    assert group.get_external_resources() == {}


@pytest.mark.parametrize(
    "builder",
    [
        SlotSharingGroup.builder("io").set_cpu_cores(1),
        SlotSharingGroup.builder("io").set_task_heap_memory_mb(1),
        SlotSharingGroup.builder("io").set_managed_memory_mb(1),
        SlotSharingGroup.builder("io").set_task_off_heap_memory_mb(1),
        SlotSharingGroup.builder("io").set_external_resource("gpu", 1),
    ],
)
def test_a_group_with_resources_needs_cores_and_heap_memory(builder):
    with pytest.raises(ValueError, match="needs cpu_cores and task_heap_memory"):
        builder.build()


def test_resources_of_nothing_are_refused():
    with pytest.raises(ValueError, match="more than 0"):
        SlotSharingGroup.builder("io").set_cpu_cores(0)
    with pytest.raises(ValueError, match="heap memory"):
        SlotSharingGroup.builder("io").set_task_heap_memory_mb(0)


def test_memory_sizes_compare_with_numbers_of_bytes():
    size = MemorySize.of_mebi_bytes(1)
    assert size == 1 << 20
    assert size == (1 << 20)
    assert size < (1 << 20) + 1
    assert size >= 1 << 20
    assert size > 0
    assert hash(size) == hash(1 << 20)
    assert size != "1 mb"
    with pytest.raises(TypeError, match="not supported between instances"):
        size < "1 mb"  # noqa: B015
