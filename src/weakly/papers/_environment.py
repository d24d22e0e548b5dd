"""Versions and machine, stored beside every measurement."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib

_PACKAGES = ("weakly", "numpy", "scipy", "scikit-learn", "numba")


@cache
def versions() -> dict[str, str]:
    """Return the versions that can change a number."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


@cache
def machine() -> dict[str, str | int]:
    """Describe the machine without naming it."""
    return {
        "cpu": _cpu_model(),
        "cores": joblib.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def source(record: Mapping[str, Any]) -> str:
    """Say with what and on what a stored record was measured."""
    used = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    return "{used}; {cpu}, {cores} cores, {system}".format(used=used, **record["machine"])


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        if found:
            return found.group(1).strip()
    return platform.processor() or platform.machine()
