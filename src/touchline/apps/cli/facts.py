"""`touchline facts`: whether they keep what they promise, and all of them again."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from .measuring import DEFAULT, Tenant, with_measuring
from .output import AsJson, progress, show, show_json

if TYPE_CHECKING:
    from touchline.apps.measuring import Measuring
    from touchline.measure.validation.service import Finding, RepairReport

CheckOnly = Annotated[bool, typer.Option("--check-only", help="Only say what is wrong, change nothing.")]
commands = typer.Typer(help="Check session facts, and make them again.", no_args_is_help=True)


@commands.command()
def validate(check_only: CheckOnly = False, tenant: Tenant = DEFAULT, as_json: AsJson = False) -> int:
    """Check that every stored event and every fact is there and right, and repair what is not: missing rows are made
    again from the event log and from the stored events. What cannot be repaired is named, with exit code 1."""
    findings, repaired = with_measuring(tenant, lambda measuring: _validated(measuring, check_only=check_only))
    if as_json:
        show_json({"findings": [asdict(one) for one in findings], "repaired": asdict(repaired) if repaired else None})
    else:
        for finding in findings:
            _show_finding(finding)
        if repaired:
            _show_repaired(repaired)
    return 1 if any(finding.wrong for finding in findings) else 0


async def _validated(measuring: Measuring, *, check_only: bool) -> tuple[list[Finding], RepairReport | None]:
    findings = await measuring.validation.run(measuring.tenant_id)
    if check_only:
        return findings, None
    progress("repairing what is missing")
    repaired = await measuring.repair.run(measuring.tenant_id)
    return await measuring.validation.run(measuring.tenant_id), repaired


def _show_finding(finding: Finding) -> None:
    show(f"{'FAIL' if finding.wrong else 'ok':4}  {finding.name}: {finding.promise}")
    if finding.wrong:
        show(f"      {finding.wrong} wrong, such as")
    for example in finding.examples:
        show(f"      {example.id}: {example.found}")


def _show_repaired(repaired: RepairReport) -> None:
    show(
        f"repaired: {repaired.deliveries} deliveries, {repaired.artifact_events} artifact events, "
        f"{repaired.sessions} sessions, {repaired.days} days of sums"
    )
    for lost in repaired.lost:
        show(f"LOST  {lost.id}: {lost.found}")


@commands.command()
def rebuild(tenant: Tenant = DEFAULT, as_json: AsJson = False) -> None:
    """Fold every session again from the stored events, as the settings are now."""

    def tell(sessions: int) -> None:
        progress(f"{sessions} sessions")

    total = with_measuring(tenant, lambda measuring: measuring.folds.rebuild(measuring.tenant_id, tell))
    if as_json:
        show_json({"sessions": total})
    else:
        show(f"{total} sessions folded again")
