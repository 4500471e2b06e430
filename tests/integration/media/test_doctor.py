"""What `touchline doctor` says about the isolation of the sandbox."""

from __future__ import annotations

import pytest

from touchline.apps.doctor import examine_isolation
from touchline.media.sandbox import Sandbox, service
from touchline.media.settings import MediaSettings
from touchline.platform.stack.doctor import FindingLevel


async def test_all_walls_are_named_where_they_stand(sandbox: Sandbox) -> None:
    found = await examine_isolation(MediaSettings())
    if (await sandbox.isolation()).missing:
        assert found.level is FindingLevel.WARN
    else:
        assert (found.level, found.why) == (FindingLevel.OK, "")
        assert "network, files, processes, user, limits" in found.what


@pytest.mark.parametrize(("required", "level"), [(False, FindingLevel.WARN), (True, FindingLevel.FAIL)])
async def test_without_bubblewrap_the_missing_ones_are_named(
    required: bool, level: FindingLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "bubblewrap", lambda: None)
    found = await examine_isolation(MediaSettings(require_isolation=required))
    assert found.level is level
    assert "not isolated: network, files, processes" in found.why
    assert "user namespaces" in found.fix
