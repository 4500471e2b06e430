from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.support import fingerprint_writer
from tests.support.fingerprint_writer import video
from touchline.kernel import InvalidInput, NotFound
from touchline.media.errors import DamagedIndex, IndexBusy
from touchline.media.fingerprint.comparison import MatchRule, compare
from touchline.media.fingerprint.index import (
    IndexMatch,
    IndexReader,
    IndexWriter,
    query as index_query,
    segment as segment_file,
)
from touchline.media.fingerprint.model import Fingerprint, Style

from .hashes import POOL, careful_fingerprints, fingerprints

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])


def steps_with(videos: st.SearchStrategy[Fingerprint]) -> st.SearchStrategy[tuple[str, object]]:
    return st.one_of(
        st.tuples(st.just("add"), st.dictionaries(NAMES, videos, min_size=1)),
        st.tuples(st.just("remove"), NAMES),
        st.tuples(st.just("rebuild"), st.none()),
    )


STEPS = steps_with(fingerprints(16))


def by_brute_force(videos: dict[str, Fingerprint], query: Fingerprint) -> list[IndexMatch]:
    found = [IndexMatch(name, compare(query, each)) for name, each in videos.items()]
    matching = [each for each in found if each.comparison.match]
    return sorted(matching, key=lambda each: (-each.comparison.run, -each.comparison.matched, each.video_id))


def walk(folder: Path, steps: list[tuple[str, object]], query: Fingerprint) -> None:
    """The same steps on the index and on a dictionary."""
    model: dict[str, Fingerprint] = {}
    with IndexWriter.open(folder) as writer:
        for step, subject in steps:
            match step, subject:
                case "add", dict():
                    writer.add(subject.items())
                    model |= subject
                case "remove", str() if subject in model:
                    writer.remove([subject])
                    del model[subject]
                case "remove", str():
                    with pytest.raises(NotFound):
                        writer.remove([subject])
                case _:
                    writer.rebuild()
            reader = IndexReader(folder)
            assert dict(reader.videos()) == model
            assert reader.find(query) == by_brute_force(model, query)


@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, max_size=6), fingerprints())
def test_same_as_brute_force(steps: list[tuple[str, object]], query: Fingerprint) -> None:
    with TemporaryDirectory() as folder:
        walk(Path(folder), steps, query)


@settings(max_examples=25, deadline=None)
@given(st.lists(steps_with(careful_fingerprints(16)), max_size=4), careful_fingerprints())
def test_careful_ones_as_brute_force(steps: list[tuple[str, object]], query: Fingerprint) -> None:
    with TemporaryDirectory() as folder:
        walk(Path(folder), steps, query)


@settings(max_examples=20, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=2), fingerprints(), st.integers(0, 50))
def test_same_with_bands(steps: list[tuple[str, object]], query: Fingerprint, many: int) -> None:
    """As large segments are looked up; `many` makes the paths for pictures that are everywhere be taken."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_file, "LEAST_FOR_BANDS", 1)
        patch.setattr(segment_file, "PROBE_COST", -1_000_000)
        patch.setattr(index_query, "TOGETHER", 5)
        patch.setattr(index_query, "MANY_COVERED", many)
        patch.setattr(index_query, "FEW_PLACES", many // 10)
        patch.setattr(index_query, "MANY_FOUND", many)
        walk(Path(folder), steps, query)


@pytest.fixture(scope="module")
def of_few_pictures(tmp_path_factory: pytest.TempPathFactory) -> tuple[IndexReader, dict[str, Fingerprint]]:
    """Short videos of the same pictures, some without information, in any order: most rows of three are in several."""
    random = np.random.default_rng(4)
    hashes = random.choice(np.array([0, *POOL], np.uint64), (400, 6), p=[0.15, 0.3, 0.25, 0.15, 0.1, 0.05])
    hashes ^= np.where(hashes, np.uint64(1) << random.integers(0, 64, hashes.shape, dtype=np.uint64), np.uint64(0))
    videos = {f"{number}": Fingerprint(each) for number, each in enumerate(hashes)}
    folder = tmp_path_factory.mktemp("few-pictures")
    with IndexWriter.open(folder) as writer:
        writer.add(videos.items())
    return IndexReader(folder), videos


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([0, *POOL]), min_size=3, max_size=7).map(Fingerprint.of),
    st.sampled_from([-1, 200, 300, 500]),
    st.sampled_from([-1, 10_000]),
)
def test_what_is_thinned_out_is_in_no_row(
    of_few_pictures: tuple[IndexReader, dict[str, Fingerprint]], query: Fingerprint, everywhere: int, enough: int
) -> None:
    """`everywhere`: in how many places a picture is of which only those are kept from which a row goes on."""
    reader, videos = of_few_pictures
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_query, "MANY_COVERED", enough)
        patch.setattr(index_query, "FEW_PLACES", -1)
        patch.setattr(index_query, "MANY_FOUND", everywhere)
        assert reader.find(query) == by_brute_force(videos, query)


def test_a_row_over_gaps_of_both_sides(tmp_path: Path) -> None:
    """No picture of the row is before the video's gap, and the one that is looked up first is in no video."""
    one, two, three, four, five = POOL
    with IndexWriter.open(tmp_path) as writer:
        writer.add([("video", Fingerprint.of([one, four, 0, two, three]))])
    (found,) = IndexReader(tmp_path).find(Fingerprint.of([one, 0, five, two, three]))
    assert found.comparison.run == 3


def test_random_copies_in_many_videos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough hashes that bands are built, a fifth of them shared by all videos, and gaps."""
    monkeypatch.setattr(index_query, "MANY_FOUND", 500)
    monkeypatch.setattr(index_query, "MANY_COVERED", 2000)
    random = np.random.default_rng(3)
    hashes = random.integers(1, 2**64, (800, 60), dtype=np.uint64)
    shared = random.integers(1, 2**64, 9, dtype=np.uint64)
    places = random.random(hashes.shape) < 0.2
    hashes[places] = shared[random.integers(0, 9, int(places.sum()))]
    hashes[random.random(hashes.shape) < 0.05] = 0
    videos = {f"{number}": Fingerprint(each) for number, each in enumerate(hashes)}
    with IndexWriter.open(tmp_path) as writer:
        writer.add(videos.items())
    reader = IndexReader(tmp_path)
    assert len(reader.segment(reader.manifest.segments[0].name).buckets)
    for number in range(0, 60, 10):
        noise = np.uint64(1) << random.integers(0, 64, (9, 40)).astype(np.uint64)
        query = Fingerprint(np.where(hashes[number, 10:50], hashes[number, 10:50] ^ np.bitwise_xor.reduce(noise), 0))
        found = reader.find(query)
        assert found == by_brute_force(videos, query)
        assert found[0].video_id == str(number)


def test_a_stricter_rule_is_exact_and_a_looser_one_refused(tmp_path: Path) -> None:
    with IndexWriter.open(tmp_path) as writer:
        writer.add([video(1)])
    reader, query = IndexReader(tmp_path), Fingerprint(video(1)[1].hashes[:4])
    assert reader.find(query, MatchRule(least_run=4))
    assert not reader.find(query, MatchRule(least_run=5))
    for rule in (MatchRule(near=11), MatchRule(least_run=2)):
        with pytest.raises(InvalidInput):
            reader.find(query, rule)


def test_one_style(tmp_path: Path) -> None:
    careful = Fingerprint(video(2)[1].hashes, Style.CAREFUL, video(3)[1].hashes)
    with IndexWriter.open(tmp_path) as writer:
        writer.add([video(1)])
        with pytest.raises(InvalidInput, match="style"):
            writer.add([("two", careful)])
        with pytest.raises(InvalidInput, match="style"):
            IndexReader(tmp_path).find(careful)
        writer.remove(["video-0001"])
        writer.add([("two", careful)])
    assert dict(IndexReader(tmp_path).videos()) == {"two": careful}


def test_few_segments_and_no_leftovers(tmp_path: Path) -> None:
    with IndexWriter.open(tmp_path) as writer:
        for number in range(40):
            writer.add([video(number)])
    reader = IndexReader(tmp_path)
    assert reader.info().segments <= 7
    assert {path.name for path in tmp_path.glob("*.segment")} == {entry.name for entry in reader.manifest.segments}
    assert reader.fingerprint("video-0007") == video(7)[1]


@pytest.mark.parametrize("name", ["", "x" * 256, "a\nb", "\ud800"])
def test_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    with IndexWriter.open(tmp_path) as writer, pytest.raises(InvalidInput):
        writer.add([(name, video(1)[1])])


def test_one_writer(tmp_path: Path) -> None:
    with IndexWriter.open(tmp_path), pytest.raises(IndexBusy), IndexWriter.open(tmp_path):
        pass


def test_a_reader_keeps_its_moment(tmp_path: Path) -> None:
    with IndexWriter.open(tmp_path) as writer:
        writer.add([video(1)])
        reader = IndexReader(tmp_path)
        writer.add([video(2)])
        writer.remove(["video-0001"])
        writer.rebuild()
        assert [each.video_id for each in reader.find(video(1)[1])] == ["video-0001"]
        reader.refresh()
        assert list(reader.video_ids()) == ["video-0002"]


@contextmanager
def writing(folder: Path, begin: int, count: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", fingerprint_writer.__name__, str(folder), str(begin), str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[4]) as process:
        yield process
        process.kill()


def test_killed_in_the_middle(tmp_path: Path) -> None:
    """Nothing that was committed is lost, nothing is there by half, and the next writer goes on."""
    begin = 0
    for lines in (2, 7):
        with writing(tmp_path, begin, 1000) as process:
            assert process.stdout
            for _ in range(lines):
                process.stdout.readline()
            os.kill(process.pid, signal.SIGKILL)
            told = [begin + lines - 1, *map(int, process.stdout.read().split())]
        reader = IndexReader(tmp_path)
        reader.check()
        there = sorted(reader.video_ids())
        assert there == [video(number)[0] for number in range(len(there))]
        assert len(there) in (told[-1] + 1, told[-1] + 2), "all that were told, and perhaps one that could not be"
        assert all(fingerprint == video(int(name[-4:]))[1] for name, fingerprint in reader.videos())
        begin = len(there)


def test_reading_while_somebody_writes(tmp_path: Path) -> None:
    with IndexWriter.open(tmp_path) as writer:
        writer.add([video(0)])
    reader, seen = IndexReader(tmp_path), 0
    with writing(tmp_path, 1, 30) as process:
        while process.poll() is None:
            reader.refresh()
            there = sorted(reader.video_ids())
            assert there == [video(number)[0] for number in range(len(there))]
            assert len(there) >= seen
            seen = len(there)
            assert reader.find(video(seen - 1)[1])[0].video_id == there[-1]
    reader.refresh()
    assert reader.info().videos == 31


def changed(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)


def test_damaged_files(tmp_path: Path) -> None:
    with IndexWriter.open(tmp_path) as writer:
        writer.add(video(number) for number in range(9))
    segment, manifest = next(tmp_path.glob("*.segment")), tmp_path / "manifest.json"
    whole, listed = segment.read_bytes(), manifest.read_bytes()
    for place in (0, 5, 9, 40, 200):
        changed(segment, place)
        with pytest.raises(DamagedIndex):
            IndexReader(tmp_path)
        segment.write_bytes(whole)
    for size in (0, 10, 700, len(whole) - 100):
        segment.write_bytes(whole[:size])
        with pytest.raises(DamagedIndex):
            IndexReader(tmp_path)
    segment.write_bytes(whole)
    changed(segment, len(whole) - 80)
    with pytest.raises(DamagedIndex):
        IndexReader(tmp_path).check()
    segment.unlink()
    with pytest.raises(DamagedIndex):
        IndexReader(tmp_path)
    segment.write_bytes(whole)
    for content in (b"", b"[]", b"{}", listed[:-9], listed.replace(b'"videos": 9', b'"videos": 8')):
        manifest.write_bytes(content)
        with pytest.raises(DamagedIndex):
            IndexReader(tmp_path)
    manifest.unlink()
    with pytest.raises(NotFound):
        IndexReader(tmp_path)


@pytest.mark.parametrize("wrong", [10**9, 60])
def test_a_bucket_that_ends_behind_the_last_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: int) -> None:
    monkeypatch.setattr(segment_file, "LEAST_FOR_BANDS", 1)
    with IndexWriter.open(tmp_path) as writer:
        writer.add([video(1)])
    reader = IndexReader(tmp_path)
    segment = reader.segment(reader.manifest.segments[0].name)
    monkeypatch.setattr(segment_file, "PROBE_COST", -1_000_000)
    monkeypatch.setattr(segment, "buckets", segment.buckets + np.uint32(wrong))
    with pytest.raises(DamagedIndex):
        reader.find(video(1)[1])


@given(st.sets(st.integers(0, 63), max_size=10))
def test_any_choice_of_radii_sees_what_is_near(flipped: set[int]) -> None:
    distances = [sum(1 for bit in flipped if bit // 16 == band) for band in range(4)]
    assert all(any(distances[band] <= radii[band] for band in range(4)) for radii in segment_file.CHOICES.tolist())


@given(st.lists(st.integers(0, 30), min_size=3, max_size=30), st.sets(st.integers(0, 29)))
def test_the_cover_has_one_of_any_three(costs: list[int], everywhere: set[int]) -> None:
    """What is everywhere does not count as the last of them."""

    def is_covered(chosen: set[int], place: int) -> bool:
        return bool(chosen & {place, place + 1} or place + 2 in chosen - everywhere)

    anyone = index_query._cheapest_cover(costs, set())
    assert all(anyone & {place, place + 1, place + 2} for place in range(len(costs) - 2))
    assert sum(costs[place] for place in anyone) <= min(sum(costs[begin::3]) for begin in range(3))
    for chosen in (index_query._cheapest_cover(costs, everywhere), index_query._completed(anyone, everywhere)):
        assert all(is_covered(chosen, place) for place in range(len(costs) - 2))
