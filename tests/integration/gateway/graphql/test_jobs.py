"""The job queue over GraphQL: what people see of it, what they may do, and what is left in the history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from touchline.kernel import Role, Scope
from touchline.process.queue.alerts import QueueMonitor
from touchline.process.queue.jobs import FailureReason, Job, JobType, TranscodePayload
from touchline.process.queue.service import Queue, enqueue
from touchline.process.settings import AlertSettings
from touchline.process.videos.store import NewVideo, VideoStore

from .site import Person, Site
from .subscriber import listening, opened

FIELDS = """
fragment F on Job {
  id jobType status videoId artifactHash priority progressPercent etaSeconds attempt retryCount maxRetries worker
  dependsOn createdAt runAt startedAt finishedAt payload result error { type message retryCount } revision
}
"""
JOB = (
    FIELDS
    + """
query ($id: ID!) { job(id: $id) {
  ...F vod { title } history { fromStatus toStatus attempt actor reason }
} }
"""
)
JOBS = (
    FIELDS
    + """
query ($page: PageInput, $filter: JobFilter) { jobsConnection(page: $page, filter: $filter) {
  totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } edges { node { ...F history { actor } } }
} }
"""
)
FAILURES = "{ jobFailures { jobType errorType count latestAt latestJobId example } }"
DEPTH = """
query ($hours: Int! = 24) { jobDepth(hours: $hours) {
  since until stepSeconds types { jobType samples { sampledAt queued processing oldestSeconds } }
} }
"""
ALERTS = "{ jobAlerts { kind jobType raised value threshold } }"
ACTS = """
{ __typename ... on JobActs { next jobs { id status priority } refused { id code message hint } }
  ... on ValidationError { field message } ... on AuthError { code message hint } }
"""
RETRY = f"""
mutation ($selection: JobSelection!, $reason: String) {{
  done: retryJobs(selection: $selection, reason: $reason) {ACTS}
}}
"""
CANCEL = RETRY.replace("retryJobs", "cancelJobs")
PRIORITY = f"""
mutation ($selection: JobSelection!, $priority: Int!) {{
  done: reprioritiseJobs(selection: $selection, priority: $priority) {ACTS}
}}
"""
LIVE = """
subscription ($after: String) { liveJobs(after: $after) {
  cursor occurredAt job { jobId jobType artifactHash status attempt progressPercent retryCount priority errorType
  errorMessage revision } alert { kind jobType raised }
} }
"""
LEASE = timedelta(minutes=5)
BROKEN = FailureReason("NotAVideo", "this is not a video", retryable=False)
PASSING = FailureReason("Unavailable", "the store is away", retryable=True)


def queue(site: Site) -> Queue:
    return Queue(site.world.database, "worker-1", LEASE)


async def waiting(site: Site, person: Person, count: int = 1) -> list[Job]:
    """Transcodes of new videos."""
    made: list[Job] = []
    async with site.world.database.transaction(person.principal) as transaction:
        for _ in range(count):
            video = uuid4()
            original = f"videos/original/{video}/master.mp4"
            await VideoStore(transaction.connection).add(NewVideo(video, None, original, 1, "video/mp4"))
            job = await enqueue(transaction, TranscodePayload(video_id=video, s3_original_path=original))
            assert job
            made.append(job)
    return made


async def failed(site: Site, person: Person, count: int = 1, failure: FailureReason = BROKEN) -> list[Job]:
    made = await waiting(site, person, count)
    for held in await queue(site).claim([JobType.TRANSCODE], count):
        await queue(site).fail(held, failure)
    return made


async def running(site: Site, person: Person, percent: int | None = None) -> Job:
    await waiting(site, person)
    [held] = await queue(site).claim([JobType.TRANSCODE], 1)
    if percent is not None:
        await queue(site).report(held, percent)
    return held


async def listed(site: Site, person: Person, page: Any = None, **wanted: Any) -> dict[str, Any]:
    return (await site.data(person, JOBS, page=page, filter=wanted or None))["jobsConnection"]


def ids(found: dict[str, Any]) -> list[str]:
    return [edge["node"]["id"] for edge in found["edges"]]


async def act(site: Site, person: Person, document: str, wanted: Sequence[Job] | dict[str, Any], **more: Any) -> Any:
    selection = wanted if isinstance(wanted, dict) else {"ids": [str(job.id) for job in wanted]}
    return (await site.data(person, document, selection=selection, **more))["done"]


async def shown(site: Site, person: Person, job_id: UUID) -> dict[str, Any]:
    return (await site.data(person, JOB, id=str(job_id)))["job"]


CAUSE = {"cause": {"jobType": "transcode", "errorType": "NotAVideo"}}


# --- what is seen


async def test_a_job_is_shown_with_progress_payload_error_and_history(site: Site) -> None:
    ada = await site.person(Role.VIEWER)
    upload = await site.upload(await site.person(), "The final")
    video = UUID(upload.artifact_hash)
    original = f"videos/original/{video}/master.mp4"
    async with site.world.database.transaction(ada.principal) as transaction:
        await VideoStore(transaction.connection).add(NewVideo(video, None, original, 1, "video/mp4"))
        job = await enqueue(transaction, TranscodePayload(video_id=video, s3_original_path=original))
    assert job
    assert (await shown(site, ada, job.id))["etaSeconds"] is None
    [held] = await queue(site).claim([JobType.TRANSCODE], 1)
    assert (await shown(site, ada, job.id))["etaSeconds"] is None, "it has said nothing yet"
    await queue(site).report(held, 50)
    now = await shown(site, ada, job.id)
    assert (now["status"], now["progressPercent"], now["worker"]) == ("processing", 50, "worker-1")
    assert now["etaSeconds"] > 0
    await queue(site).fail(held, BROKEN)
    dead = await shown(site, ada, job.id)
    assert (dead["status"], dead["etaSeconds"], dead["worker"]) == ("failed", None, None)
    assert dead["error"] == {"type": "NotAVideo", "message": "this is not a video", "retryCount": 0}
    assert dead["payload"] == {"video_id": str(video), "s3_original_path": original}
    assert dead["vod"] == {"title": "The final"}
    assert [(step["toStatus"], step["actor"]) for step in dead["history"]][1:] == [
        ("processing", "worker-1"),
        ("failed", "worker-1"),
    ]
    assert dead["history"][-1]["reason"] == "NotAVideo: this is not a video"


async def test_lists_are_filtered_and_paged_both_ways(site: Site) -> None:
    ada = await site.person(Role.VIEWER)
    dead = await failed(site, ada, 2)
    others = await waiting(site, ada, 3)
    newest_first = [str(job.id) for job in [*dead, *others]][::-1]
    found = await listed(site, ada)
    assert (ids(found), found["totalCount"]) == (newest_first, 5)
    assert found["edges"][-1]["node"]["history"][1:] == [{"actor": "worker-1"}] * 2
    first = await listed(site, ada, {"first": 2})
    assert (ids(first), first["pageInfo"]["hasNextPage"]) == (newest_first[:2], True)
    second = await listed(site, ada, {"first": 3, "after": first["pageInfo"]["endCursor"]})
    assert (ids(second), second["pageInfo"]["hasNextPage"]) == (newest_first[2:], False)
    back = await listed(site, ada, {"last": 1, "before": second["pageInfo"]["startCursor"]})
    assert (ids(back), back["pageInfo"]["hasPreviousPage"]) == (newest_first[1:2], True)
    assert ids(await listed(site, ada, status="failed", jobType="transcode")) == newest_first[3:]
    assert ids(await listed(site, ada, errorType="NotAVideo")) == newest_first[3:]
    assert ids(await listed(site, ada, videoId=str(others[0].video_id))) == [str(others[0].id)]
    assert ids(await listed(site, ada, jobType="ocr")) == []


async def test_what_has_failed_is_grouped_by_cause(site: Site) -> None:
    ada = await site.person(Role.VIEWER)
    dead = await failed(site, ada, 2)
    [other] = await failed(site, ada, 1, FailureReason("Forbidden", "no right", retryable=False))
    await failed(site, ada, 1, PASSING)  # is tried again
    groups = (await site.data(ada, FAILURES))["jobFailures"]
    assert [(one["jobType"], one["errorType"], one["count"], one["example"]) for one in groups] == [
        ("transcode", "NotAVideo", 2, "this is not a video"),
        ("transcode", "Forbidden", 1, "no right"),
    ]
    assert groups[0]["latestJobId"] in {str(job.id) for job in dead}
    assert groups[1]["latestJobId"] == str(other.id)


async def test_depth_age_and_alerts_are_the_tenants_own(site: Site) -> None:
    ada, eve = await site.person(Role.VIEWER), await site.person(Role.VIEWER, site.world.theirs)
    await failed(site, ada)
    await waiting(site, ada, 2)
    await QueueMonitor(site.world.database, AlertSettings(dead_letters=0), site.world.clock).run_pass()
    await waiting(site, ada)
    [of_type] = (await site.data(ada, DEPTH, hours=1))["jobDepth"]["types"]
    assert [(one["queued"], one["processing"]) for one in of_type["samples"]] == [(2, 0), (3, 0)]
    assert of_type["samples"][-1]["oldestSeconds"] >= 0
    day = (await site.data(ada, DEPTH))["jobDepth"]
    assert (day["stepSeconds"], len(day["types"])) == (360, 1)
    alert = {"kind": "dead_letters", "jobType": "transcode", "raised": True, "value": 1.0, "threshold": 0.0}
    assert (await site.data(ada, ALERTS))["jobAlerts"] == [alert]
    assert (await site.data(eve, DEPTH))["jobDepth"]["types"] == []
    assert (await site.data(eve, ALERTS))["jobAlerts"] == []


# --- what is done


async def test_a_cause_is_retried_at_once_by_somebody_for_a_reason(site: Site) -> None:
    ada = await site.person(Role.EDITOR)
    dead = await failed(site, ada, 2)
    [other] = await failed(site, ada, 1, FailureReason("Forbidden", "no right", retryable=False))
    done = await act(site, ada, RETRY, CAUSE, reason="the converter was mended")
    assert ({job["id"] for job in done["jobs"]}, done["refused"]) == ({str(job.id) for job in dead}, [])
    assert {job["status"] for job in done["jobs"]} == {"queued"}
    step = (await shown(site, ada, dead[0].id))["history"][-1]
    user, _ = await site.world.auth.sessions.describe(ada.principal)
    assert (step["actor"], step["reason"]) == (user.email, "retried by a user: the converter was mended")
    assert [one["errorType"] for one in (await site.data(ada, FAILURES))["jobFailures"]] == ["Forbidden"]
    assert (await shown(site, ada, other.id))["status"] == "failed"


async def test_a_cause_is_cancelled_and_put_back_before_its_next_try(site: Site) -> None:
    ada = await site.person(Role.EDITOR)
    [again] = await failed(site, ada, 1, PASSING)
    await waiting(site, ada)
    cause = {"cause": {"jobType": "transcode", "errorType": "Unavailable"}}
    put_back = await act(site, ada, PRIORITY, cause, priority=-5)
    assert [(job["id"], job["priority"]) for job in put_back["jobs"]] == [(str(again.id), -5)]
    ended = await act(site, ada, CANCEL, cause, reason="nobody wants it")
    assert [(job["id"], job["status"]) for job in ended["jobs"]] == [(str(again.id), "failed")]
    gone = await shown(site, ada, again.id)
    assert gone["error"]["message"].endswith(": nobody wants it")
    assert [step["reason"] for step in gone["history"]][-3] == "priority -5, was 0"


async def test_cancelling_what_runs_ends_it(site: Site) -> None:
    ada = await site.person(Role.EDITOR)
    held = await running(site, ada, 10)
    assert (await act(site, ada, CANCEL, [held]))["jobs"] == [{"id": str(held.id), "status": "failed", "priority": 0}]
    assert not await queue(site).heartbeat(held)


async def test_what_cannot_be_done_is_said_of_each_and_holds_up_nothing(site: Site) -> None:
    ada, eve = await site.person(Role.EDITOR), await site.person(Role.EDITOR, site.world.theirs)
    [foreign] = await failed(site, eve)
    [dead], [live] = await failed(site, ada), await waiting(site, ada)
    unknown, wrong = str(uuid4()), "no id at all"
    selection = {"ids": [wrong, unknown, str(foreign.id), str(live.id), str(dead.id)]}
    done = await act(site, ada, RETRY, selection)
    assert [job["id"] for job in done["jobs"]] == [str(dead.id)]
    refused = {one["id"]: (one["code"], one["message"]) for one in done["refused"]}
    assert {code for job_id, (code, _) in refused.items() if job_id != str(live.id)} == {"not_found"}
    assert refused[str(foreign.id)][1] == refused[unknown][1].replace(unknown, str(foreign.id))
    assert refused[str(live.id)][0] == "conflict"
    assert (await shown(site, eve, foreign.id))["status"] == "failed"


async def test_who_may_only_look_changes_nothing(site: Site) -> None:
    reader = await site.person(Role.ADMIN, None, Scope.READ)
    [dead] = await failed(site, reader)
    for person in (await site.person(Role.VIEWER), reader):
        for document, more in ((RETRY, {}), (CANCEL, {}), (PRIORITY, {"priority": -1})):
            done = await act(site, person, document, [dead], **more)
            assert (done["__typename"], done["code"]) == ("AuthError", "forbidden")
    assert (await shown(site, reader, dead.id))["status"] == "failed"


async def test_only_operators_go_before_the_jobs_of_all_tenants(site: Site) -> None:
    [job] = await waiting(site, await site.person())
    admin = await site.person(Role.ADMIN, None, *Scope)
    refused = await act(site, admin, PRIORITY, [job], priority=1)
    assert (refused["__typename"], refused["code"]) == ("AuthError", "forbidden")
    operator = await site.person(Role.OPERATOR, None, *Scope)
    assert (await act(site, operator, PRIORITY, [job], priority=1))["jobs"][0]["priority"] == 1


async def test_bad_questions_name_the_field(site: Site) -> None:
    ada = await site.person(Role.EDITOR)
    cases: list[tuple[str, dict[str, Any], str]] = [
        (RETRY, {"selection": {}}, "selection"),
        (RETRY, {"selection": CAUSE | {"ids": []}}, "selection"),
        (RETRY, {"selection": {"ids": [str(uuid4())] * 201}}, "selection.ids"),
        (RETRY, {"selection": {"cause": {"jobType": "mow", "errorType": "x"}}}, "selection.cause.jobType"),
        (RETRY, {"selection": {"cause": {"jobType": "ocr", "errorType": "x\x01"}}}, "selection.cause.errorType"),
        (RETRY, {"selection": CAUSE | {"after": "elsewhere"}}, "selection.after"),
        (CANCEL, {"selection": CAUSE, "reason": "two\nlines"}, "reason"),
        (PRIORITY, {"selection": CAUSE, "priority": -101}, "priority"),
    ]
    for document, variables, field in cases:
        done = (await site.data(ada, document, **variables))["done"]
        assert (done["__typename"], done["field"]) == ("ValidationError", field)
    for wanted, field in (
        ({"status": "x"}, "filter.status"),
        ({"videoId": "x"}, "filter.videoId"),
        ({"errorType": "\x01"}, "filter.errorType"),
    ):
        answer = await site.ask(ada, JOBS, filter=wanted)
        assert answer["errors"][0]["extensions"]["field"] == field
    assert (await site.ask(ada, DEPTH, hours=25))["errors"][0]["extensions"]["field"] == "hours"
    assert (await site.data(ada, JOB, id="no id"))["job"] is None


# --- live


async def test_jobs_are_followed_live(site: Site) -> None:
    ada = await site.person(Role.VIEWER)
    async with listening(site.app) as address, opened(address) as browser, opened(address) as other:
        await browser.hello(ada.token)
        await browser.subscribe(query=LIVE)
        await other.hello(ada.token)
        await other.subscribe()
        held = await running(site, ada, 40)
        await queue(site).fail(held, BROKEN)
        await QueueMonitor(site.world.database, AlertSettings(dead_letters=0), site.world.clock).run_pass()
        await site.settle()
        events = [(await browser.hear())["payload"]["data"]["liveJobs"] for _ in range(5)]
        jobs = [event["job"] for event in events[:4]]
        assert [(job["status"], job["progressPercent"], job["errorType"]) for job in jobs] == [
            ("queued", None, None),
            ("processing", None, None),
            ("processing", 40, None),
            ("failed", 40, "NotAVideo"),
        ]
        assert {(job["jobId"], job["artifactHash"]) for job in jobs} == {(str(held.id), held.video_id.hex)}
        assert (jobs[2]["revision"], jobs[3]["revision"] > jobs[1]["revision"]) == (None, True)
        assert events[4]["alert"] == {"kind": "dead_letters", "jobType": "transcode", "raised": True}
        await browser.subscribe(after=events[2]["cursor"], query=LIVE, name="2")
        assert (await browser.hear())["payload"]["data"]["liveJobs"] == events[3]
        await site.upload(await site.person())
        await site.settle()
        assert (await other.event())["stage"] == "registered", "who listens to uploads hears nothing of jobs"
