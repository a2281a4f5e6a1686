"""Tool calls in pieces, as public servers stream them: put together again, or one clear error; never another call."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.agent_node.policies.call_pieces import CallPieces
from toolhand.agent_node.policies.transport import Fault

DETECT_ALL, DETECT_ONE, CAPTURE = "roborefer__detect_all", "vlm__detect_one", "robot__capture_image"
CAN = '{"obj_name": "can", "image_index": 0}'
NAMELESS = [""]


def piece(arguments: Any = None, name: str | None = None, **more: Any) -> dict[str, Any]:
    """A piece with what is given and nothing else, but `arguments` always."""
    return more | {"function": {"arguments": arguments} | ({} if name is None else {"name": name})}


def joined(*pieces: dict[str, Any]) -> list[tuple[str, str]]:
    calls = CallPieces()
    for one in pieces:
        calls.add([one])
    return calls.joined()


TWO = [(CAPTURE, ""), (DETECT_ONE, CAN)]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(
            [
                piece("", CAPTURE, index=0, id="a"),
                piece("", DETECT_ONE, index=1, id="b"),
                piece(CAN[:9], index=1),
                piece(CAN[9:], index=1),
            ],
            TWO,
            id="OpenAI: index always, id and name once",
        ),
        pytest.param(
            [piece("", CAPTURE, index=0, id="a"), piece(CAN, DETECT_ONE, index=0, id="b")],
            TWO,
            id="Ollama: each call in a piece, all numbered 0, the first without arguments",
        ),
        pytest.param(
            [piece(CAN, DETECT_ONE, index=0, id="a"), piece(CAN, DETECT_ONE, index=0, id="b")],
            [(DETECT_ONE, CAN)] * 2,
            id="Dynamo: the same call twice, all numbered 0",
        ),
        pytest.param(
            [
                piece("", CAPTURE, index=0, id="a"),
                piece(None, DETECT_ONE, index=0, id="b"),
                piece(CAN[:9], index=0, id="b"),
                piece(CAN[9:], index=0, id="b"),
            ],
            TWO,
            id="all numbered 0, the id in each piece",
        ),
        pytest.param(
            [piece("", CAPTURE, index=0), piece(CAN[:9], DETECT_ONE, index=0), piece(CAN[9:], index=0)],
            TWO,
            id="all numbered 0, no ids, another name",
        ),
        pytest.param(
            [
                piece("", CAPTURE, index=0, id="same"),
                piece(CAN[:9], DETECT_ONE, index=1, id="same"),
                piece("{}", index=0, id="same"),
                piece(CAN[9:], index=1, id="same"),
            ],
            [(CAPTURE, "{}"), (DETECT_ONE, CAN)],
            id="one id for all, told apart by the index",
        ),
        pytest.param(
            [piece("", CAPTURE, id="a"), piece(CAN[:9], DETECT_ONE, id="b"), piece(CAN[9:], id="b")],
            TWO,
            id="no index, the id in each piece",
        ),
        pytest.param(
            [
                piece("", CAPTURE, index=None, id="a"),
                piece(CAN[:9], DETECT_ONE, index=None, id="b"),
                piece(CAN[9:], index=None, id=None),
            ],
            TWO,
            id="a null index, the id once",
        ),
        pytest.param(
            [
                piece("", CAPTURE, index=0, id="a"),
                piece("", DETECT_ONE, index=1, id="b"),
                piece(CAN[:9], DETECT_ONE, index=1, id="b"),
                piece(CAN[9:], DETECT_ONE, index=1, id="b"),
                piece("", DETECT_ONE, index=1, id="b"),
            ],
            TWO,
            id="id and name in each piece, and an empty one at the end",
        ),
        pytest.param(
            [
                piece("", DETECT_ONE, index=0),
                piece(CAN[:9], DETECT_ONE, index=0),
                piece(CAN[9:], DETECT_ONE, index=0),
                piece(CAN, DETECT_ONE, index=0),
            ],
            [(DETECT_ONE, CAN)] * 2,
            id="the name in each piece, no ids, the same tool twice",
        ),
        pytest.param(
            [piece("", DETECT_ONE, index=0, id="1"), piece(CAN[:9], index=0, id="2"), piece(CAN[9:], index=0, id="3")],
            [(DETECT_ONE, CAN)],
            id="a new id in each piece",
        ),
        pytest.param(
            [piece("", DETECT_ONE, index=0), piece(CAN[:9], index=0, id="a"), piece(CAN[9:], index=0, id="a")],
            [(DETECT_ONE, CAN)],
            id="an id that comes late",
        ),
        pytest.param(
            [piece({"obj_name": "can"}, DETECT_ONE, index=0, id="a"), piece(index=1)],
            [(DETECT_ONE, '{"obj_name": "can"}')],
            id="arguments as an object, and an empty piece of no call",
        ),
        pytest.param(
            [
                piece("", DETECT_ONE, index=0, id="a"),
                piece(CAN, index=0),
                piece('{"image_index": 0,  "obj_name": "can"}', DETECT_ONE, index=0, id="a"),
                piece(CAN, DETECT_ONE, index=0, id="a"),
            ],
            [(DETECT_ONE, CAN)],
            id="the whole call sent again at the end",
        ),
        pytest.param(
            [piece("", DETECT_ONE, index=0, id="a"), piece(CAN, index=0), piece(CAN, DETECT_ONE, index=0)],
            [(DETECT_ONE, CAN)],
            id="the whole call sent again, without its id",
        ),
        pytest.param(
            [
                piece("{}", CAPTURE, index=0, id="a"),
                piece(CAN, DETECT_ONE, index=1, id="b"),
                piece("{}", CAPTURE, index=0, id="a"),
                piece(CAN, DETECT_ONE, index=1, id="b"),
            ],
            [(CAPTURE, "{}"), (DETECT_ONE, CAN)],
            id="both calls sent again",
        ),
        pytest.param(
            [
                {"index": 0, "id": "a"},
                piece("", DETECT_ONE, index=0),
                {"index": 0, "function": None},
                piece(CAN, index=0),
            ],
            [(DETECT_ONE, CAN)],
            id="pieces without a function",
        ),
    ],
)
def test_the_ways_of_public_servers(pieces: list[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    assert joined(*pieces) == expected


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([piece("", CAPTURE, index=0), piece(CAN, index=1)], id="arguments of a call without a name"),
        pytest.param([piece(CAN, index=0)], id="no name at all"),
        pytest.param(
            [piece("", CAPTURE, index=0, id="a"), piece(CAN, index=0, id="b"), piece("", DETECT_ONE, index=0, id="b")],
            id="a name that comes after the arguments, which were taken for another call's",
        ),
        pytest.param(
            [piece("{}", DETECT_ONE, index=0, id="a"), piece(CAN, DETECT_ONE, index=0, id="a")],
            id="one id with two sets of arguments",
        ),
        pytest.param(
            [piece("{}", DETECT_ONE, index=0, id="a"), piece(CAN, DETECT_ONE, index=0)],
            id="other arguments for a call that is whole",
        ),
    ],
)
def test_what_cannot_be_told_apart_is_one_malformed_call(pieces: list[dict[str, Any]]) -> None:
    assert [name for name, _ in joined(*pieces)] == NAMELESS


def test_each_entry_of_a_whole_message_is_a_call_whatever_its_index_and_id() -> None:
    calls = CallPieces()
    calls.replace([piece("", CAPTURE, index=0, id="a"), piece(CAN, DETECT_ONE, index=0, id="a"), piece(CAN, index=0)])
    assert calls.joined() == [*TWO, ("", CAN)]


def test_an_entry_that_is_twice_in_a_whole_message_is_one_call_where_it_has_an_id() -> None:
    for id_, expected in (("a", 1), ("", 2), (None, 2)):
        calls = CallPieces()
        calls.replace([piece(CAN, DETECT_ONE, id=id_)] * 2)
        assert len(calls.joined()) == expected, id_


def test_a_whole_message_after_its_pieces_runs_nothing_twice() -> None:
    calls = CallPieces()
    calls.add([piece("", CAPTURE, index=0, id="a"), piece(CAN, DETECT_ONE, index=1, id="b")])
    calls.replace([piece("", CAPTURE, id="a"), piece(CAN, DETECT_ONE, id="b")])
    assert calls.joined() == TWO


@pytest.mark.parametrize("requested", ["y", {"function": "y"}, [1], [{"function": 1}]])
def test_what_are_no_calls_is_a_fault_of_the_server(requested: Any) -> None:
    with pytest.raises(Fault):
        CallPieces().add(requested)


MANNERS = {
    # manner: (index of call k, id of call k, id in each piece, name in each piece, pieces of calls may be interleaved)
    "OpenAI": (lambda k: k, lambda k: f"id{k}", False, False, True),
    "id repeated": (lambda k: k, lambda k: f"id{k}", True, False, True),
    "id and name repeated": (lambda k: k, lambda k: f"id{k}", True, True, True),
    "all numbered 0": (lambda k: 0, lambda k: f"id{k}", False, False, False),
    "all numbered 0, id repeated": (lambda k: 0, lambda k: f"id{k}", True, False, True),
    "all numbered 0, id and name repeated": (lambda k: 0, lambda k: f"id{k}", True, True, True),
    "no index": (lambda k: "absent", lambda k: f"id{k}", False, False, False),
    "no index, id repeated": (lambda k: "absent", lambda k: f"id{k}", True, True, True),
    "null index": (lambda k: None, lambda k: f"id{k}", False, False, False),
    "null index, id repeated": (lambda k: None, lambda k: f"id{k}", True, False, True),
    "no ids": (lambda k: k, lambda k: None, False, False, True),
    "no ids, name repeated": (lambda k: k, lambda k: None, False, True, True),
    "empty ids": (lambda k: k, lambda k: "", True, False, True),
    "one id for all": (lambda k: k, lambda k: "same", True, True, True),
}
WRITTEN = st.sampled_from(
    [
        "",
        "{}",
        CAN,
        '{"a": {}}',
        '{"a": "}{", "b": [1, {"c": null}]}',
        '{"bounding_box": [0, 0, 1, 1]}',
        '{"a": "\\u00e9"}',
    ]
)


@given(data=st.data(), manner=st.sampled_from(sorted(MANNERS)))
def test_any_split_of_calls_under_any_manner_gives_back_exactly_those_calls(data: st.DataObject, manner: str) -> None:
    index_of, id_of, every_id, every_name, interleaved = MANNERS[manner]
    written = data.draw(st.lists(st.tuples(st.sampled_from([CAPTURE, DETECT_ALL, DETECT_ONE]), WRITTEN), max_size=4))
    streams = []
    for k, (name, text) in enumerate(written):
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
        parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        stream = []
        for n, part in enumerate(parts):
            one = piece(part, name if n == 0 or every_name else None)
            one |= {} if index_of(k) == "absent" else {"index": index_of(k)}
            one |= {"id": id_of(k)} if n == 0 or every_id else {}
            stream.append(one)
        streams.append(stream)
    pieces = [stream.pop(0) for stream in streams] if interleaved else []
    while any(streams):
        remaining = [stream for stream in streams if stream]
        pieces.append((data.draw(st.sampled_from(remaining)) if interleaved else remaining[0]).pop(0))
    assert joined(*pieces) == written


@given(
    st.lists(
        st.builds(
            piece,
            st.sampled_from(["", CAN, CAN[:9], CAN[9:], "{}", None]),
            st.sampled_from([None, "", CAPTURE, DETECT_ONE]),
            index=st.sampled_from([None, 0, 1]),
            id=st.sampled_from([None, "", "a", "b"]),
        ),
        max_size=6,
    )
)
def test_no_order_of_odd_pieces_makes_up_a_name_or_a_word(pieces: list[dict[str, Any]]) -> None:
    calls = joined(*pieces)
    sent = [one["function"] for one in pieces]
    assert {name for name, _ in calls} <= {function.get("name") or "" for function in sent} | {""}
    assert len(calls) <= max(1, len(pieces))
    for _, text in calls:
        assert Counter(text) <= Counter("".join(function["arguments"] or "" for function in sent) + "{}")
