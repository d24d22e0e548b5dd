"""Versions, source and machine, stored beside every measurement."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib

import weakly

_PACKAGES = ("weakly", "numpy", "scipy", "scikit-learn", "numba")
_PACKAGE = Path(weakly.__file__).parent  # what papers change is in the fingerprint of a cell
_CHANGES_NO_NUMBER = ("cli", "plotting.py")


def environment() -> dict[str, Any]:
    """Return what a record says of its circumstances."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"versions": versions(), "source": source_hash(), "machine": machine(), "time": now}


@cache
def versions() -> dict[str, str]:
    """Return the versions that can change a number."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


@cache
def source_hash() -> str:
    """Hash the modules that can change a number."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        place = path.relative_to(_PACKAGE)
        if place.parts[0] not in _CHANGES_NO_NUMBER:
            digest.update(f"{place.as_posix()}\n{path.read_text(encoding='utf-8')}\n".encode())
    return digest.hexdigest()[:12]


@cache
def machine() -> dict[str, str | int]:
    """Describe the machine without naming it."""
    return {
        "cpu": _cpu_model(),
        "cores": joblib.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def circumstances(record: Mapping[str, Any]) -> str:
    """Say with what and on what a stored record was measured."""
    used = [f"{name} {number}" for name, number in record["versions"].items()]
    used += [f"source {record['source']}"] if "source" in record else []
    return "{used}; {cpu}, {cores} cores, {system}".format(used=", ".join(used), **record["machine"])


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        if found:
            return found.group(1).strip()
    return platform.processor() or platform.machine()
