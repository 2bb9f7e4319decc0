"""Checkpoint settings (CKP-01 to CKP-14)."""

import pickle
from datetime import timedelta

import pytest

from penstock.vocabulary.settings.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from penstock.vocabulary.settings.checkpoints import CheckpointConfig
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.settings.modes import CheckpointingMode, ExternalizedCheckpointRetention
from penstock.vocabulary.time.durations import Duration


def test_ckp_01_checkpointing_is_off_and_has_flinks_settings():
    config = CheckpointConfig()
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert config.get_checkpoint_timeout() == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.is_fail_on_checkpointing_errors()
    assert config.get_externalized_checkpoint_retention() is ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
    assert not config.is_externalized_checkpoints_enabled()
    assert config.get_num_retained_checkpoints() == 1
    assert not config.is_unaligned_checkpoints_enabled()
    assert not config.is_force_unaligned_checkpoints()
    assert config.get_aligned_checkpoint_timeout() == Duration.of_millis(0)
    assert config.get_checkpoint_storage() is None


def test_setters_and_getters():
    config = CheckpointConfig()
    config.set_checkpoint_interval(100)
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    config.set_min_pause_between_checkpoints(Duration.of_millis(500))
    config.set_checkpoint_timeout(timedelta(minutes=1))
    config.set_max_concurrent_checkpoints(2)
    config.set_tolerable_checkpoint_failure_number(10)
    config.set_num_retained_checkpoints(20)
    config.set_alignment_timeout(Duration.of_seconds(5))
    config.set_force_unaligned_checkpoints()
    assert config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == 100
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.get_min_pause_between_checkpoints() == 500
    assert config.get_checkpoint_timeout() == 60_000
    assert config.get_max_concurrent_checkpoints() == 2
    assert config.get_tolerable_checkpoint_failure_number() == 10
    assert not config.is_fail_on_checkpointing_errors()
    assert config.get_num_retained_checkpoints() == 20
    assert config.get_aligned_checkpoint_timeout() == config.get_alignment_timeout() == Duration.of_seconds(5)
    assert config.is_force_unaligned_checkpoints()
    assert pickle.loads(pickle.dumps(config)).get_checkpoint_timeout() == 60_000


def test_ckp_08_failing_on_errors_is_the_old_form_of_tolerable_failures():
    config = CheckpointConfig()
    config.set_fail_on_checkpointing_errors(False)
    assert config.get_tolerable_checkpoint_failure_number() == 2_147_483_647
    config.set_fail_on_checkpointing_errors(True)
    assert config.get_tolerable_checkpoint_failure_number() == 0


@pytest.mark.parametrize("name", ["set_externalized_checkpoint_retention", "enable_externalized_checkpoints"])
def test_ckp_09_retention(name):
    config = CheckpointConfig()
    getattr(config, name)(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    assert config.is_externalized_checkpoints_enabled()
    assert config.get_externalized_checkpoint_retention() is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION


def test_unaligned_checkpoints_need_exactly_once():
    config = CheckpointConfig()
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    with pytest.raises(ValueError, match="need the mode EXACTLY_ONCE"):
        config.enable_unaligned_checkpoints()
    config.set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE)
    config.enable_unaligned_checkpoints()
    assert config.is_unaligned_checkpoints_enabled()
    with pytest.raises(ValueError, match="need the mode EXACTLY_ONCE"):
        config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    config.disable_unaligned_checkpoints()
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    assert not config.is_unaligned_checkpoints_enabled()


def test_unaligned_checkpoints_run_one_at_a_time():
    config = CheckpointConfig()
    config.enable_unaligned_checkpoints()
    with pytest.raises(ValueError, match="one at a time"):
        config.set_max_concurrent_checkpoints(2)
    config.disable_unaligned_checkpoints()
    config.set_max_concurrent_checkpoints(2)
    with pytest.raises(ValueError, match="one at a time"):
        config.enable_unaligned_checkpoints()


@pytest.mark.parametrize(
    ("setter", "value"),
    [
        ("set_checkpoint_interval", 9),
        ("set_checkpoint_timeout", 9),
        ("set_min_pause_between_checkpoints", -1),
        ("set_max_concurrent_checkpoints", 0),
        ("set_tolerable_checkpoint_failure_number", -1),
        ("set_num_retained_checkpoints", 0),
        ("set_alignment_timeout", -1),
    ],
)
def test_numbers_that_make_no_sense_are_refused(setter, value):
    with pytest.raises(ValueError, match="it must be"):
        getattr(CheckpointConfig(), setter)(value)


def test_wrong_kinds_are_refused():
    with pytest.raises(TypeError, match="CheckpointingMode"):
        CheckpointConfig().set_checkpointing_mode("EXACTLY_ONCE")
    with pytest.raises(TypeError, match="ExternalizedCheckpointRetention"):
        CheckpointConfig().set_externalized_checkpoint_retention(1)


def test_a_string_is_a_directory():
    config = CheckpointConfig()
    config.set_checkpoint_storage("file:///checkpoints")
    assert config.get_checkpoint_storage() == FileSystemCheckpointStorage("file:///checkpoints")
    config.set_checkpoint_storage(JobManagerCheckpointStorage())
    assert config.get_checkpoint_storage() == JobManagerCheckpointStorage()
    config.set_checkpoint_storage_dir("hdfs://host/x")
    assert config.get_checkpoint_storage() == FileSystemCheckpointStorage("hdfs://host/x")


def test_the_configuration_overrides_only_what_it_holds():
    config = CheckpointConfig()
    config.set_checkpoint_timeout(1_000)
    config.configure(
        Configuration.from_dict(
            {
                "execution.checkpointing.interval": "5 s",
                "execution.checkpointing.mode": "at-least-once",
                "execution.checkpointing.min-pause": "500 ms",
                "execution.checkpointing.max-concurrent-checkpoints": "3",
                "execution.checkpointing.tolerable-failed-checkpoints": 4,
                "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
                "execution.checkpointing.aligned-checkpoint-timeout": "2 s",
                "state.checkpoints.num-retained": "20",
                "state.checkpoints.dir": "file:///checkpoints",
            }
        )
    )
    assert config.get_checkpoint_interval() == 5_000
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.get_min_pause_between_checkpoints() == 500
    assert config.get_max_concurrent_checkpoints() == 3
    assert config.get_tolerable_checkpoint_failure_number() == 4
    assert config.get_externalized_checkpoint_retention() is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    assert config.get_aligned_checkpoint_timeout() == Duration.of_seconds(2)
    assert config.get_num_retained_checkpoints() == 20
    assert config.get_checkpoint_storage() == FileSystemCheckpointStorage("file:///checkpoints")
    assert config.get_checkpoint_timeout() == 1_000


def test_a_wrong_word_in_the_configuration_is_named_with_the_right_ones():
    with pytest.raises(ValueError, match="'twice'; write one of EXACTLY_ONCE, AT_LEAST_ONCE"):
        CheckpointConfig().configure(Configuration.from_dict({"execution.checkpointing.mode": "twice"}))
