"""Which subjects are read together, in how large chunks, and what one bad one does to the others."""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping

import pytest

from tests.unit import clock, gauges
from tests.unit.scheduler.office import Office
from vigil import ports
from vigil.kind import api
from vigil.model import failures, ids, wakes
from vigil.scheduler import groups, reads

Category = failures.Category


def failing(*bad: str, category: Category = Category.TRANSIENT) -> Callable[[list[str]], failures.Failure | None]:
    """A provider that fails every request that has one of these in it."""
    failure = failures.Failure(category, "502")
    return lambda names: failure if set(names) & set(bad) else None


async def test_two_watches_of_one_subject_share_one_read() -> None:
    office = Office()
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch("a"), gauges.watch("a", uid="w2"))
        assert office.asked() == [["a"]]
        assert {one.message.watch.uid for one in office.sidecar.wakes.values()} == {"w1", "w2"}


async def test_the_subjects_of_several_watches_of_a_credential_are_read_in_one_request() -> None:
    office = Office()
    async with office.open():
        await office.enrol(gauges.watch("b", "a"), gauges.watch("c", uid="w2"))
        assert office.asked() == [["a", "b", "c"]]


async def test_a_partition_is_a_group_of_its_own() -> None:
    office = Office()
    async with office.open():
        await office.enrol(gauges.watch("a", hall="north"), gauges.watch("b", uid="w2", hall="south"))
        assert sorted(office.asked()) == [["a"], ["b"]]


async def test_a_credential_is_a_group_of_its_own() -> None:
    office = Office()
    async with office.open():
        await office.enrol(gauges.watch("a", token="one"), gauges.watch("b", uid="w2", token="two"))
        assert sorted(office.asked()) == [["a"], ["b"]]


async def test_two_secrets_with_the_same_token_are_one_account() -> None:
    office = Office()
    office.keys.tokens = {"one": "the-same", "two": "the-same"}
    async with office.open():
        await office.enrol(gauges.watch("a", token="one"), gauges.watch("b", uid="w2", token="two"))
        assert office.asked() == [["a", "b"]]


async def test_the_requests_of_an_account_are_made_one_after_another() -> None:
    office = Office()
    async with office.open():
        await office.enrol(*(gauges.watch(f"g{n}", uid=f"w{n}", hall=f"hall{n}") for n in range(5)))
        assert len(office.asked()) == 5
        assert office.provider.most_open == 1


async def test_the_requests_of_several_accounts_are_made_at_once() -> None:
    office = Office()
    async with office.open():
        await office.enrol(*(gauges.watch(f"g{n}", uid=f"w{n}", token=f"token{n}") for n in range(5)))
        assert office.provider.most_open == 5


async def test_no_request_takes_more_subjects_than_the_kind_allows() -> None:
    office = Office()
    async with office.open():
        await office.enrol(gauges.watch(*"abcdefghi"))
        assert office.asked() == [["a", "b", "c", "d"], ["e", "f", "g", "h"], ["i"]]


async def test_c056_one_bad_subject_never_fails_its_batch() -> None:
    office = Office()
    for name in "abc":
        office.provider.show(name)
    office.provider.show("heavy")
    office.provider.fails = failing("heavy")
    async with office.open():
        await office.enrol(gauges.watch("a", "b", "c", "heavy"))
        assert {name: office.category(name) for name in ("a", "b", "c", "heavy")} == {
            "a": None,
            "b": None,
            "c": None,
            "heavy": Category.TRANSIENT,
        }


@pytest.mark.parametrize("category", ["timeout", "transient", "malformed", "too_large", "unknown"])
async def test_a_chunk_that_fails_as_a_whole_is_halved_until_the_bad_one_stands_alone(category: str) -> None:
    office = Office()
    for name in "abcd":
        office.provider.show(name)
    office.provider.fails = failing("d", category=Category(category))
    async with office.open():
        await office.enrol(gauges.watch(*"abcd"))
        assert office.asked() == [["a", "b", "c", "d"], ["a", "b"], ["c", "d"], ["c"], ["d"]]
        assert office.category("c") is None
        assert office.category("d") is Category(category)


@pytest.mark.parametrize("category", ["auth", "forbidden", "not_found", "config", "tls", "blocked_address"])
async def test_a_failure_that_a_smaller_chunk_would_have_too_is_not_tried_again(category: str) -> None:
    office = Office()
    office.provider.fails = failing("d", category=Category(category))
    async with office.open():
        await office.enrol(gauges.watch(*"abcd"))
        assert office.asked() == [["a", "b", "c", "d"]]


async def test_a_failure_of_a_subject_that_is_its_answer_halves_nothing() -> None:
    office = Office()
    for name in "abcd":
        office.provider.show(name, category="timeout")
    async with office.open():
        await office.enrol(gauges.watch(*"abcd"))
        assert office.asked() == [["a", "b", "c", "d"]]
        assert office.category("a") is Category.TIMEOUT


async def test_c053_the_size_that_works_is_remembered_and_grows_back_slowly() -> None:
    office = Office()
    for name in "abcd":
        office.provider.show(name)
    office.provider.fails = lambda names: failures.Failure(Category.TRANSIENT, "504") if len(names) > 1 else None
    async with office.open():
        await office.enrol(gauges.watch(*"abcd"))
        assert [len(names) for names in office.asked()] == [4, 2, 1, 1, 2, 1, 1]
        office.provider.fails = lambda names: None
        sizes = []
        for _ in range(4):
            await office.clock.advance(120)
            sizes.append([len(names) for names in office.asked()])
        assert sizes == [[1, 1, 1, 1], [3, 1], [3, 1], [4]]


async def test_an_outage_is_not_asked_for_subject_by_subject() -> None:
    office = Office()
    names = [f"g{n:02}" for n in range(40)]
    office.provider.fails = lambda _: failures.Failure(Category.TRANSIENT, "503")
    async with office.open():
        await office.enrol(gauges.watch(*names))
        assert len(office.asked()) == 8
        assert {office.category(name) for name in names} == {Category.TRANSIENT}


async def test_what_was_given_up_on_comes_first_the_next_time() -> None:
    office = Office()
    names = [f"g{n:02}" for n in range(20)]
    for name in names:
        office.provider.show(name)
    office.provider.fails = failing(*names[:7])
    async with office.open():
        await office.enrol(gauges.watch(*names))
        assert {office.category(name) for name in names} == {Category.TRANSIENT}
        office.asked()
        await office.clock.advance(120)
        read = {name for name in names if office.category(name) is None}
        assert read == set(names[7:])


async def test_a_read_that_takes_too_long_is_a_timeout() -> None:
    office = Office(read_limits=reads.ReadLimits(timeout=0.0))
    office.provider.gate = asyncio.Event()
    async with office.open():
        await office.enrol(gauges.watch())
        assert office.category("a") is Category.TIMEOUT
        assert office.provider.open == 0


async def test_a_subject_that_the_kind_did_not_answer_for_is_malformed() -> None:
    office = Office()
    office.provider.show("a")
    async with office.open():
        await office.enrol(gauges.watch("a", "b"))
        assert (office.category("a"), office.category("b")) == (None, Category.MALFORMED)


async def test_a_kind_that_raises_in_read_fails_its_own_subjects() -> None:
    office = Office()
    office.provider.show("b")
    office.provider.fails = lambda names: KeyError("names") if "a" in names else None
    async with office.open():
        await office.enrol(gauges.watch("a", "b"))
        assert (office.category("a"), office.category("b")) == (Category.UNKNOWN, None)


async def test_a_kind_that_cannot_make_its_reader_fails_its_own_watch() -> None:
    office = Office()
    office.provider.refuses_readers = True
    async with office.open():
        await office.enrol(gauges.watch())
        assert office.category("a") is Category.UNKNOWN
        office.provider.refuses_readers = False
        office.provider.show("a")
        await office.clock.advance(120)
        assert office.category("a") is None


async def test_a_kind_that_cannot_place_a_subject_fails_its_own_watch_and_no_other() -> None:
    office = Office()
    office.provider.show("b")
    async with office.open():
        await office.enrol(gauges.watch("a", hall="nowhere"), gauges.watch("b", uid="w2"))
        assert office.category("a") is Category.UNKNOWN
        assert office.category("b", "w2") is None
        await office.clock.advance(120)
        assert office.category("b", "w2") is None


async def test_a_credential_that_cannot_be_had_is_the_failure_of_its_watch() -> None:
    office = Office()
    office.keys.refuses = failures.Failure(Category.CONFIG, "there is no Secret of that name")
    async with office.open():
        await office.enrol(gauges.watch("a", "b"))
        assert office.asked() == []
        assert (office.category("a"), office.category("b")) == (Category.CONFIG, Category.CONFIG)


async def test_a_reader_is_kept_for_its_memory_and_made_anew_with_its_transport() -> None:
    office = Office()
    made: list[api.Reader] = []

    def reader(through: object) -> api.Reader:
        made.append(gauges.GaugeReader(through))  # type: ignore[arg-type] # it is the transport of this world
        return made[-1]

    watch = gauges.watch(kind=dataclasses.replace(gauges.KIND, reader=reader))
    async with office.open():
        await office.enrol(watch)
        await office.clock.advance(240)
        assert len(made) == 1
        office.keys.providers[gauges.HOST] = gauges.Provider()
        await office.clock.advance(120)
        assert len(made) == 2


async def test_every_read_is_told_of_with_what_failed_in_it() -> None:
    office = Office()
    office.provider.show("a")
    office.provider.show("b", category="not_found")
    async with office.open():
        await office.enrol(gauges.watch("a", "b"))
        (done,) = office.records(ports.ProbeDone)
        assert done == ports.ProbeDone("gauge", 2, 0.0, clock.START, {Category.NOT_FOUND: 1})


async def test_what_is_due_soon_in_the_same_group_is_read_along() -> None:
    office = Office()
    for name in "ab":
        office.provider.show(name)
    async with office.open():
        await office.enrol(gauges.watch("a"))
        await office.clock.advance(30)
        await office.enrol(gauges.watch("b", uid="w2"))
        office.asked()
        await office.clock.advance(90)
        assert office.asked() == [["a", "b"]]


async def test_what_is_due_later_than_a_quarter_of_its_interval_is_not() -> None:
    office = Office()
    for name in "ab":
        office.provider.show(name)
    async with office.open():
        await office.enrol(gauges.watch("a"))
        await office.clock.advance(31)
        await office.enrol(gauges.watch("b", uid="w2"))
        office.asked()
        await office.clock.advance(89)
        assert office.asked() == [["a"]]


async def test_what_is_due_soon_in_another_group_is_not() -> None:
    office = Office()
    for name in "ab":
        office.provider.show(name)
    async with office.open():
        await office.enrol(gauges.watch("a", hall="north"))
        await office.clock.advance(10)
        await office.enrol(gauges.watch("b", uid="w2", hall="south"))
        office.asked()
        await office.clock.advance(110)
        assert office.asked() == [["a"]]
        await office.clock.advance(10)
        assert office.asked() == [["b"]]


async def test_an_anchor_is_handed_to_later_reads() -> None:
    office = Office()
    wanted: list[str] = []

    class Reader(gauges.GaugeReader):
        async def read(
            self, asked: Mapping[ids.SubjectId, api.Wanted], budget: api.ReadBudget
        ) -> Mapping[ids.SubjectId, api.Snapshot | failures.Failure]:
            wanted.extend(one.anchor for one in asked.values())
            return await super().read(asked, budget)

    office.provider.show("a", anchor="id-7")
    async with office.open():
        await office.enrol(gauges.watch(kind=dataclasses.replace(gauges.KIND, reader=Reader)))
        await office.clock.advance(120)
        assert wanted == ["", "id-7"]


async def test_the_groups_of_watches_that_are_gone_are_forgotten() -> None:
    office = Office()
    office.provider.show("a", category="throttled", retryAfter=3600)
    async with office.open():
        await office.enrol(gauges.watch("a"))
        await office.scheduler.drop(ids.WatchUid("w1"))
        office.provider.show("a")
        await office.enrol(gauges.watch("a", uid="w2"))
        assert office.category("a", "w2") is None


def test_a_chunk_grows_by_a_quarter_after_three_good_reads_and_never_past_its_limit() -> None:
    size = groups.ChunkSize(limit=25, size=25)
    seen: list[int] = []
    for _ in range(5):
        size.failed(size.size)
        seen.append(size.size)
    assert seen == [12, 6, 3, 1, 1]
    sizes = []
    for _ in range(40):
        size.succeeded()
        sizes.append(size.size)
    assert sizes[2] == 2
    assert sorted(sizes) == sizes
    assert sizes[-1] == 25


def test_a_chunk_that_was_smaller_than_the_size_halves_itself_and_not_the_size() -> None:
    size = groups.ChunkSize(limit=25, size=25)
    size.failed(6)
    assert size.size == 3


def test_chunks_are_in_a_stable_order_with_what_comes_first_in_front() -> None:
    wanted = {
        ids.SubjectId(name): api.Wanted(gauges.GaugeSubject(name=name), api.Scope("team-a", gauges.HOST))
        for name in "dcba"
    }
    assert [list(one) for one in groups.chunks(wanted, 3)] == [["a", "b", "c"], ["d"]]
    assert [list(one) for one in groups.chunks(wanted, 3, {ids.SubjectId("d")})] == [["d", "a", "b"], ["c"]]
    assert list(groups.chunks({}, 3)) == []


def test_a_credential_is_named_by_its_secret() -> None:
    assert gauges.watch(token="github").credential == wakes.SecretKey("github", "token")


async def test_what_a_provider_says_of_an_allowance_is_told_by_account_and_resource() -> None:
    office = Office()
    quota = {"resource": "core", "limit": 5000, "remaining": 4000, "resets_at": clock.START + 900}
    office.provider.quota = lambda names: quota
    async with office.open():
        await office.enrol(gauges.watch("a"))
    (told,) = office.records(ports.RateLimit)
    assert (told.host, told.limit, told.remaining, told.resets_at) == (gauges.HOST, 5000, 4000, clock.START + 900)
    assert told.credential.endswith("/core")
