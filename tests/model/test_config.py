import json
import pickle
from dataclasses import replace

import pytest

from sightline.model.config import FORMAT_VERSION, OBJECT_COLUMNS, RESERVED, StoreConfig
from sightline.model.errors import BadConfig, IncompatibleStore
from sightline.model.space import Space
from sightline.model.text_config import TextConfig


@pytest.mark.parametrize(
    "config",
    [
        StoreConfig(),
        StoreConfig(seed=-(2**63), space=Space.planar((0, 0, 9, 9)), text=TextConfig(stop_words=("the",)),
        workers=1,
                    partitioner="grid", ahead_us=None, retention_us=5, keep_objects=False, hash_bits=8),
    ],
)  # fmt: skip
def test_round_trips(config):
    assert StoreConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize(
    "change",
    [{"workers": 0}, {"workers": 2.0}, {"workers": True}, {"seed": 2**63}, {"seed": "x"}, {"space": "plane"},
     {"text": None}, {"partitioner": ""}, {"balance": None}, {"lateness_us": -1}, {"ahead_us": -1},
     {"retention_us": 0}, {"slice_us": 0}, {"keep_objects": 1}, {"hash_bits": 0}, {"hash_bits": 65},
     {"format": 0}],
)  # fmt: skip
def test_bad_options_are_refused(change):
    with pytest.raises(BadConfig, match=next(iter(change))):
        replace(StoreConfig(), **change)


def test_a_newer_format_is_refused_before_its_fields_are_read():
    with pytest.raises(IncompatibleStore, match="upgrade"):
        StoreConfig.from_dict({"format": FORMAT_VERSION + 1, "something": "new"})


@pytest.mark.parametrize("form", [None, [], {}, {"format": 1}, {**StoreConfig().to_dict(), "extra": 1}])
def test_bad_forms_are_refused(form):
    with pytest.raises(BadConfig):
        StoreConfig.from_dict(form)


def test_result_columns_are_reserved_and_object_columns_are_not():
    assert {"score", "distance_m", "rank", "batch", "term", "count"} <= RESERVED
    assert not RESERVED & set(OBJECT_COLUMNS)
