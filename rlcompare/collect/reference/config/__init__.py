"""The configuration of `rlcompare run`: verl's tree, defaults in YAML, checked and converted to frozen dataclasses."""

from rlcompare.collect.reference.config.load import load_config, to_dict, to_yaml
from rlcompare.collect.reference.config.schema import Config

__all__ = ["Config", "load_config", "to_dict", "to_yaml"]
