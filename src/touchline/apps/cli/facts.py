"""`touchline facts`: whether they keep what they promise, and all of them again."""

from __future__ import annotations

from dataclasses import asdict

import typer

from .measuring import DEFAULT, Tenant, with_measuring
from .output import AsJson, progress, show, show_json

commands = typer.Typer(help="Check session facts, and make them again.", no_args_is_help=True)


@commands.command()
def validate(tenant: Tenant = DEFAULT, as_json: AsJson = False) -> int:
    """Ask the tables whether every promise of the facts holds. Exit code 1 when one is broken."""
    findings = with_measuring(tenant, lambda measuring: measuring.validation.run(measuring.tenant_id))
    if as_json:
        show_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            show(f"{'FAIL' if finding.wrong else 'ok':4}  {finding.name}: {finding.promise}")
            if finding.wrong:
                show(f"      {finding.wrong} wrong, such as")
            for example in finding.examples:
                show(f"      {example.id}: {example.found}")
    return 1 if any(finding.wrong for finding in findings) else 0


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
