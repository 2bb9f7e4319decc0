"""Job-wide settings."""

import pickle

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.settings.execution import ExecutionConfig
from penstock.vocabulary.settings.restarts import RestartStrategies


def test_a_job_that_sets_nothing_has_flinks_settings():
    config = ExecutionConfig()
    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT == -1
    assert config.get_max_parallelism() == -1
    assert config.get_auto_watermark_interval() == 200
    assert config.get_latency_tracking_interval() == 0
    assert config.get_task_cancellation_interval() == 30_000
    assert config.get_task_cancellation_timeout() == 30_000
    assert config.get_global_job_parameters() == {}
    assert config.get_restart_strategy() == RestartStrategies.fall_back_restart()
    assert config.is_closure_cleaner_enabled()
    assert config.has_auto_generated_uids_enabled()
    assert not config.is_object_reuse_enabled()
    assert not config.is_use_snapshot_compression()
    assert not config.is_force_kryo_enabled()
    assert not config.is_force_avro_enabled()
    assert not config.has_generic_types_disabled()
    assert config.get_default_kryo_serializer_classes() == {}
    assert config.get_registered_kryo_types() == []
    assert config.get_registered_pojo_types() == []


def test_setters_chain_and_getters_return_what_was_set():
    config = ExecutionConfig()
    assert config.set_parallelism(4).set_max_parallelism(256).set_auto_watermark_interval(10_000) is config
    config.set_latency_tracking_interval(0).set_task_cancellation_interval(6).set_task_cancellation_timeout(7)
    config.set_restart_strategy(RestartStrategies.no_restart()).set_use_snapshot_compression(True)
    assert config.get_parallelism() == 4
    assert config.get_max_parallelism() == 256
    assert config.get_auto_watermark_interval() == 10_000
    assert config.get_latency_tracking_interval() == 0
    assert config.get_task_cancellation_interval() == 6
    assert config.get_task_cancellation_timeout() == 7
    assert config.get_restart_strategy() == RestartStrategies.no_restart()
    assert config.is_use_snapshot_compression()


@pytest.mark.parametrize(
    ("enable", "disable", "ask", "answer_when_enabled"),
    [
        ("enable_object_reuse", "disable_object_reuse", "is_object_reuse_enabled", True),
        ("enable_auto_generated_uids", "disable_auto_generated_uids", "has_auto_generated_uids_enabled", True),
    ],
)
def test_switches(enable, disable, ask, answer_when_enabled):
    config = ExecutionConfig()
    getattr(config, enable)()
    assert getattr(config, ask)() is answer_when_enabled
    getattr(config, disable)()
    assert getattr(config, ask)() is not answer_when_enabled


@pytest.mark.parametrize(
    ("refused", "fine", "ask"),
    [
        ("disable_closure_cleaner", "enable_closure_cleaner", "is_closure_cleaner_enabled"),
        ("enable_force_kryo", "disable_force_kryo", "is_force_kryo_enabled"),
        ("enable_force_avro", "disable_force_avro", "is_force_avro_enabled"),
        ("disable_generic_types", "enable_generic_types", "has_generic_types_disabled"),
    ],
)
def test_what_a_jvm_would_do_is_refused_and_the_rest_says_what_holds(refused, fine, ask):
    config = ExecutionConfig()
    before = getattr(config, ask)()
    with pytest.raises(ProgramError, match="cannot be had"):
        getattr(config, refused)()
    assert getattr(config, fine)() is config
    assert getattr(config, ask)() is before


def test_latency_markers_are_refused():
    with pytest.raises(ProgramError, match="no latency markers"):
        ExecutionConfig().set_latency_tracking_interval(1)


def test_job_parameters_of_a_file_may_be_a_map():
    config = ExecutionConfig()
    config.configure(Configuration.from_dict({"pipeline.global-job-parameters.a.b": 1}))
    assert config.get_global_job_parameters() == {"a.b": "1"}


def test_job_parameters_are_copied_and_are_text():
    given = {"threshold": 3}
    config = ExecutionConfig().set_global_job_parameters(given)
    given["threshold"] = 4
    assert config.get_global_job_parameters() == {"threshold": "3"}


@pytest.mark.parametrize(
    "set_wrongly",
    [
        lambda config: config.set_parallelism(0),
        lambda config: config.set_parallelism(-3),
        lambda config: config.set_max_parallelism(0),
        lambda config: config.set_max_parallelism(32_769),
        lambda config: config.set_auto_watermark_interval(-1),
        lambda config: config.set_task_cancellation_timeout(-1),
        lambda config: config.set_task_cancellation_interval(0),
    ],
)
def test_numbers_that_make_no_sense_are_refused(set_wrongly):
    with pytest.raises(ValueError, match="must be"):
        set_wrongly(ExecutionConfig())


def test_the_configuration_overrides_only_what_it_holds():
    config = ExecutionConfig().set_parallelism(2).enable_object_reuse()
    config.configure(
        Configuration.from_dict(
            {
                "parallelism.default": "8",
                "pipeline.max-parallelism": 64,
                "pipeline.auto-watermark-interval": "1 s",
                "pipeline.auto-generate-uids": "false",
                "pipeline.global-job-parameters": "a:1, b:x:y",
                "restart-strategy.type": "none",
            }
        )
    )
    assert config.get_parallelism() == 8
    assert config.get_max_parallelism() == 64
    assert config.get_auto_watermark_interval() == 1_000
    assert not config.has_auto_generated_uids_enabled()
    assert config.get_global_job_parameters() == {"a": "1", "b": "x:y"}
    assert config.get_restart_strategy() == RestartStrategies.no_restart()
    assert config.is_object_reuse_enabled()
    before = pickle.loads(pickle.dumps(config))
    config.configure(Configuration())
    assert config == before
    assert hash(config) == hash(before)
