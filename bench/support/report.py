"""One measurement's figures: shown to people, kept as JSON in bench/results."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"


def report(name: str, figures: Mapping[str, float | str]) -> None:
    RESULTS.mkdir(exist_ok=True)
    document = {
        "name": name,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "figures": figures,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")
    print(f"\n{name}")
    for label, value in figures.items():
        print(f"  {label:44} {value if isinstance(value, str) else f'{value:,.2f}'}")


def percentile(values: list[float], share: float) -> float:
    """The least of the values that so large a share of them does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]
