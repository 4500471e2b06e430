"""`touchline facts`: whether they keep what they promise, and all of them again."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from .output import AsJson, progress, show, show_json
from .work import DEFAULT_TENANT, Tenant, with_measure

if TYPE_CHECKING:
    from touchline.apps.measure_services import MeasureServices
    from touchline.measure.validation.service import Finding, RepairReport

CheckOnly = Annotated[bool, typer.Option("--check-only", help="Report problems without repairing them.")]
commands = typer.Typer(help="Check session facts, and rebuild them.", no_args_is_help=True)


@commands.command()
def validate(check_only: CheckOnly = False, tenant: Tenant = DEFAULT_TENANT, as_json: AsJson = False) -> int:
    """Check that every stored event and every fact exists and is correct. Missing rows are rebuilt from the event log
    and from the stored events. What cannot be repaired is listed, and the exit code is 1."""
    findings, repaired = with_measure(tenant, lambda measure: _validated(measure, check_only=check_only))
    if as_json:
        show_json({"findings": [asdict(one) for one in findings], "repaired": asdict(repaired) if repaired else None})
    else:
        for finding in findings:
            _show_finding(finding)
        if repaired:
            _show_repaired(repaired)
    return 1 if any(finding.wrong for finding in findings) else 0


async def _validated(measure: MeasureServices, *, check_only: bool) -> tuple[list[Finding], RepairReport | None]:
    findings = await measure.validation.run(measure.tenant_id)
    if check_only:
        return findings, None
    progress("repairing missing rows")
    repaired = await measure.repair.run(measure.tenant_id)
    return await measure.validation.run(measure.tenant_id), repaired


def _show_finding(finding: Finding) -> None:
    show(f"{'FAIL' if finding.wrong else 'ok':4}  {finding.name}: {finding.promise}")
    if finding.wrong:
        show(f"      {finding.wrong} wrong, for example")
    for example in finding.examples:
        show(f"      {example.id}: {example.found}")


def _show_repaired(repaired: RepairReport) -> None:
    show(
        f"repaired: {repaired.deliveries} deliveries, {repaired.artifact_events} artifact events, "
        f"{repaired.sessions} sessions, {repaired.days} days of rollups"
    )
    for lost in repaired.lost:
        show(f"LOST  {lost.id}: {lost.found}")


@commands.command()
def rebuild(tenant: Tenant = DEFAULT_TENANT, as_json: AsJson = False) -> None:
    """Rebuild every session from the stored events with the current settings."""

    def report(sessions: int) -> None:
        progress(f"{sessions} sessions")

    total = with_measure(tenant, lambda measure: measure.folds.rebuild(measure.tenant_id, report))
    if as_json:
        show_json({"sessions": total})
    else:
        show(f"{total} sessions rebuilt")
