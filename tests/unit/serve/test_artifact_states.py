"""The diagram of artifacts: what people and jobs do, in whatever order word of it arrives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactType
from touchline.serve.artifacts.rules import ARROWS, NO_RUN, OWNERS, Artifact, JobRun, Reason, Report, is_news
from touchline.serve.retention.service import RetentionPass

from .test_rules import ARTIFACT

ROOT = Path(__file__).parents[3]
CUT_JOB, JOB, OTHER_JOB = (UUID(int=number) for number in (1, 2, 3))
UPLOAD = replace(ARTIFACT, status=ArtifactStatus.PROCESSING, synced=True)
CLIP = replace(ARTIFACT, status=ArtifactStatus.REQUESTED, artifact_type=ArtifactType.CLIP, size_bytes=None)
BROKEN = Reason("ToolBroke", "the tool broke")


@dataclass(frozen=True)
class Word:
    """One event of a job."""

    report: Report
    run: JobRun
    percent: int = 0


def hear(artifact: Artifact, word: Word) -> Artifact:
    """What the store does with a report that is news."""
    if not is_news(artifact, word.report, word.run, word.percent):
        return artifact
    match word.report:
        case Report.PROGRESSED:
            return _to(artifact, ArtifactStatus.PROCESSING, run=word.run, progress_percent=word.percent, reason=None)
        case Report.CUT:
            return _to(artifact, ArtifactStatus.PROCESSING, run=NO_RUN, progress_percent=None, synced=True, reason=None)
        case Report.PUBLISHED:
            return _to(artifact, ArtifactStatus.READY, run=word.run, manifest_key=f"{word.run}", reason=None)
        case Report.FAILED:
            return _to(artifact, ArtifactStatus.FAILED, run=word.run, reason=BROKEN)


def _to(artifact: Artifact, status: ArtifactStatus, **changes: object) -> Artifact:
    assert status is artifact.status or status in ARROWS[artifact.status], (artifact.status, status)
    return replace(artifact, status=status, **changes)  # pyright: ignore[reportArgumentType]


@dataclass
class Job:
    """A job of the queue, as its own diagram goes, and the events it leaves in the log."""

    id: UUID = JOB
    status: str = "queued"
    attempt: int = 0
    log: list[Word] = field(default_factory=list[Word])

    def act(self, act: str) -> None:
        match act, self.status:
            case "run", "queued":
                self.attempt, self.status = self.attempt + 1, "processing"
                self._tell(Report.PROGRESSED, self.attempt, 40)
            case "break", "processing":
                self.status = "failed"
                self._tell(Report.FAILED, self.attempt)
            case "cancel", "queued" | "processing":
                self.attempt += self.status == "queued"
                self.status = "failed"
                self._tell(Report.FAILED, self.attempt)
            case "retry", "failed":
                self.status = "queued"
                self._tell(Report.PROGRESSED, self.attempt + 1)
            case "finish", "processing":
                self.status = "done"
                self._tell(Report.PUBLISHED, self.attempt)
            case _:
                pass  # refused

    def _tell(self, report: Report, attempt: int, percent: int = 0) -> None:
        self.log.append(Word(report, JobRun(self.id, attempt), percent))

    @property
    def outcome(self) -> ArtifactStatus:
        return {"done": ArtifactStatus.READY, "failed": ArtifactStatus.FAILED}.get(
            self.status, ArtifactStatus.PROCESSING
        )


ACTS = st.lists(st.sampled_from(["run", "break", "cancel", "retry", "finish"]), max_size=30)


@given(ACTS, st.randoms(use_true_random=False))
def test_an_artifact_follows_its_job_whatever_is_told_twice_or_late(acts: list[str], random: Random) -> None:
    """Events of one key keep their order; any of them may come again, at any time."""
    job, artifact = Job(), UPLOAD
    for act in acts:
        job.act(act)
    for position, word in enumerate(job.log):
        artifact = hear(artifact, word)
        late = random.choice(job.log[: position + 1])
        artifact = hear(artifact, late)
    assert artifact.status is (job.outcome if job.log else ArtifactStatus.PROCESSING)
    assert (artifact.reason is None) == (artifact.status is not ArtifactStatus.FAILED)


@given(ACTS.flatmap(lambda acts: st.permutations(_log(acts))))
def test_in_whatever_order_its_events_come_the_end_is_the_same(words: list[Word]) -> None:
    artifact, in_order = UPLOAD, UPLOAD
    for word in words:
        artifact = hear(artifact, word)
    for word in sorted(words, key=lambda word: (word.run, word.percent, word.report.value)):
        in_order = hear(in_order, word)
    assert artifact.status is in_order.status
    if artifact.status is not ArtifactStatus.READY:
        assert artifact.run == in_order.run


def _log(acts: list[str]) -> list[Word]:
    job = Job()
    for act in acts:
        job.act(act)
    return job.log


@given(ACTS, ACTS)
def test_a_clip_is_cut_then_converted_and_each_may_be_retried(cutting: list[str], converting: list[str]) -> None:
    cut, convert, clip = Job(CUT_JOB), Job(), CLIP
    for act in cutting:
        cut.act(act)
    for word in cut.log:
        clip = hear(clip, replace(word, report=Report.CUT) if word.report is Report.PUBLISHED else word)
    if cut.status != "done":
        assert clip.status is (cut.outcome if cut.log else ArtifactStatus.REQUESTED)
        return
    assert (clip.status, clip.synced) == (ArtifactStatus.PROCESSING, True)
    for act in converting:
        convert.act(act)
    for word in convert.log:
        clip = hear(clip, word)
        for late in cut.log:  # of a job that is over
            after = hear(clip, replace(late, report=Report.CUT) if late.report is Report.PUBLISHED else late)
            assert after.status is clip.status
    assert clip.status is (convert.outcome if convert.log else ArtifactStatus.PROCESSING)


@pytest.mark.parametrize("report", Report)
@pytest.mark.parametrize(
    "status", [ArtifactStatus.UPLOADING, ArtifactStatus.COMPLETING, ArtifactStatus.ABORTING, ArtifactStatus.DELETED]
)
def test_reports_find_nothing_to_change(status: ArtifactStatus, report: Report) -> None:
    assert not is_news(replace(UPLOAD, status=status), report, JobRun(JOB, 9))


@pytest.mark.parametrize(
    ("case", "artifact", "word", "expected"),
    [
        ("an upload that was refused has nothing to process",
         replace(UPLOAD, status=ArtifactStatus.FAILED, synced=False), Word(Report.PROGRESSED, JobRun(JOB, 1)), False),
        ("what failed is not revived by its own run",
         replace(UPLOAD, status=ArtifactStatus.FAILED, run=JobRun(JOB, 3)),
         Word(Report.PUBLISHED, JobRun(JOB, 3)), False),
        ("nor by an earlier one",
         replace(UPLOAD, status=ArtifactStatus.FAILED, run=JobRun(JOB, 3)),
         Word(Report.PROGRESSED, JobRun(JOB, 2), 99), False),
        ("but by a newer one",
         replace(UPLOAD, status=ArtifactStatus.FAILED, run=JobRun(JOB, 3)),
         Word(Report.PROGRESSED, JobRun(JOB, 4)), True),
        ("even if nobody said that it was retried",
         replace(UPLOAD, status=ArtifactStatus.FAILED, run=JobRun(JOB, 3)),
         Word(Report.PUBLISHED, JobRun(JOB, 4)), True),
        ("and by a job that was enqueued later",
         replace(UPLOAD, status=ArtifactStatus.FAILED, run=JobRun(JOB, 3)),
         Word(Report.PUBLISHED, JobRun(OTHER_JOB, 1)), True),
        ("an old failure does not end a retry",
         replace(UPLOAD, run=JobRun(JOB, 4)), Word(Report.FAILED, JobRun(JOB, 3)), False),
        ("a retry that fails again has failed",
         replace(UPLOAD, run=JobRun(JOB, 4)), Word(Report.FAILED, JobRun(JOB, 4)), True),
        ("what is ready does not fail",
         replace(UPLOAD, status=ArtifactStatus.READY), Word(Report.FAILED, JobRun(JOB, 9)), False),
        ("nor is an older rendition published over a newer one",
         replace(UPLOAD, status=ArtifactStatus.READY, run=JobRun(JOB, 2)),
         Word(Report.PUBLISHED, JobRun(JOB, 1)), False),
        ("an upload is not cut", UPLOAD, Word(Report.CUT, JobRun(JOB, 1)), False),
        ("a clip is cut once", replace(CLIP, synced=True), Word(Report.CUT, JobRun(JOB, 1)), False),
    ],
)  # fmt: skip
def test_what_is_news(case: str, artifact: Artifact, word: Word, expected: bool) -> None:
    assert is_news(artifact, word.report, word.run, word.percent) is expected, case


def test_every_state_is_left_and_only_what_is_purged_stays_for_ever() -> None:
    for status in ArtifactStatus:
        assert ARROWS[status], status
        assert ArtifactStatus.DELETED in _reachable(status), f"{status} can be deleted, and then purged"
        assert ArtifactStatus.READY in _reachable(status), f"something can still come of {status}"


def _reachable(start: ArtifactStatus) -> set[ArtifactStatus]:
    found, open_ends = set[ArtifactStatus](), [start]
    while open_ends:
        for status in ARROWS[open_ends.pop()] - found:
            found.add(status)
            open_ends.append(status)
    return found


def test_the_documented_diagram_is_the_one_that_is_followed() -> None:
    page = (ROOT / "docs/explanation/lifecycle.md").read_text()
    [diagram] = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", page, re.DOTALL)
    drawn = set(re.findall(r"^ *(\w+) --> (\w+)", diagram, re.MULTILINE))
    followed = {(str(start), str(end)) for start, ends in ARROWS.items() for end in ends}
    way_out = {("deleted", "purged"), ("purged", "forgotten")}
    assert drawn - way_out == followed
    assert way_out <= drawn


def test_every_state_has_an_owner_that_is_documented_and_runs() -> None:
    page = (ROOT / "docs/explanation/lifecycle.md").read_text()
    rows = re.findall(r"^\| (\w+) \| ([a-z ]+) \| .* \|$", page, re.MULTILINE)
    documented = {name: owner for name, owner in rows if name in set(ArtifactStatus)}
    assert set(OWNERS) == set(ArtifactStatus)
    assert documented == {str(status): owner for status, owner in OWNERS.items()}
    composed = (ROOT / "src/touchline/serve/composition.py").read_text()
    passes = {each.name for each in RetentionPass.__subclasses__()}
    assert {owner for owner in OWNERS.values() if owner not in passes and f'"{owner}"' not in composed} == set()
