from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.agent_node.policies.scripted.commands import MAX_COMMAND, Command, parse_command
from toolhand.agent_node.policies.scripted.verbs import VERBS
from toolhand.tool_nodes.language.phrases import Selector
from toolhand.tool_nodes.language.relations import RELATION_WORDS
from toolhand.tool_nodes.results import ErrorCode, ToolError

Row = tuple[str | None, ...]

PAPER: list[Row] = [
    ("Pick up the dark blue object", "pick", "dark blue object"),
    ("Pick up the soft toy", "pick", "soft toy"),
    ("Pick up the solid toy", "pick", "solid toy"),
    ("Pick up the tall cylindrical tennis ball container", "pick", "tall cylindrical tennis ball container"),
    ("Pick up the coconut water", "pick", "coconut water"),
    ("Pick up the plastic bottle", "pick", "plastic bottle"),
    ("Pick up the red box", "pick", "red box"),
    ("Pick up the far coconut water", "pick", "far coconut water"),
    (
        "Pick up the coconut water that is closer to the camera",
        "pick",
        "coconut water that is closest to the camera",
    ),
    ("Pick up the left pineapple juice can", "pick", "left pineapple juice can"),
    ("Pick up the right pineapple juice can", "pick", "right pineapple juice can"),
    ("Pick up the further purple drink", "pick", "further purple drink"),
    ("Pick up the near purple bottle", "pick", "near purple bottle"),
    ("Pick up the hot dog and place it in the black bin", "in", "hot dog", "black bin"),
    (
        "Pick up the tall cylindrical container and place it in the transparent bin",
        "in",
        "tall cylindrical container",
        "transparent bin",
    ),
    (
        "Pick up the leftmost condiment and place it in the transparent bin",
        "in",
        "leftmost condiment",
        "transparent bin",
    ),
    ("Pick up the cinnamon and place it in front of the rice box", "in_front_of", "cinnamon", "rice box"),
    ("Pick up the rice box and place it next to the hot sauce", "next_to", "rice box", "hot sauce"),
    ("Pick up the plushie and place it left of the coconut water", "left_of", "plushie", "coconut water"),
    ("Pick up the pony and place it left of the two plushies", "left_of", "pony", "two plushies"),
]
"""(sentence, relation or "pick", target, references...)."""

WORDINGS: list[Row] = [
    ("could you please grab me the red box?", "pick", "red box"),
    ("PICK UP THE RED BOX!!!", "pick", "red box"),
    ("pick up teh red box", "pick", "red box"),
    ("pik up the red box", "pick", "red box"),
    ("pickup the yellow thing", "pick", "yellow thing"),
    ("I'd like the red box", "pick", "red box"),
    ("I'd love the orange juice", "pick", "orange juice"),
    ("I want to have the salt", "pick", "salt"),
    ("bring me the hot dog", "pick", "hot dog"),
    ("hand me the left can, please", "pick", "left can"),
    ("Give the bunny to me", "pick", "bunny"),
    ("Fetch the ketchup!", "pick", "ketchup"),
    ("Can I have the tea box?", "pick", "tea box"),
    ("Would you be so kind as to fetch the tea box?", "pick", "tea box"),
    ("Would you mind passing me the salt?", "pick", "salt"),
    ("are you able to pick up the can?", "pick", "can"),
    ("Robot: pick up the blue cup.", "pick", "blue cup"),
    ("You should pick up the honey", "pick", "honey"),
    ("The task: pick up the honey", "pick", "honey"),
    ("Your task is to collect the banana", "pick", "banana"),
    ("go and get the honey", "pick", "honey"),
    ("don't forget to lift the plushie", "pick", "plushie"),
    ("raise the pony up", "pick", "pony"),
    ("grab hold of the pony", "pick", "pony"),
    ("take the can next to the bowl", "pick", "can next to the bowl"),
    ("remove the hot dog from the bin", "pick", "hot dog from the bin"),
    ("Take the orange from behind the cup", "pick", "orange from behind the cup"),
    ("pick up the second can from the left", "pick", "second can from the left"),
    ("pick the one on the left", "pick", "one on the left"),
    ("grab the can at the back", "pick", "can on the back"),
    ("grab the rightmost can of the three", "pick", "rightmost can"),
    ("pick up the smaller of the two boxes", "pick", "smaller of the two boxes"),
    ("pick up the box closest to the robot", "pick", "box closest to the robot"),
    ("pick up the red object, not the box", "pick", "red object not the box"),
    ("pick up the box with your gripper", "pick", "box"),
    ("pick up the red box and hold it", "pick", "red box"),
    ("lift the cup up and bring it to me", "pick", "cup"),
    ("there is a red box, pick it up", "pick", "a red box"),
    ("The apple needs to be picked up", "pick", "apple"),
    ("pick up one of the cans", "pick", "one of the cans"),
    ("pick salt", "pick", "salt"),
    ("find the red box and pick it up", "pick", "red box"),
    ("use the gripper to pick up the red box", "pick", "red box"),
    ("Pick the wrench up off the table", "pick", "wrench"),
    ("Lift the flashlight off of the box", "pick", "flashlight off of the box"),
    ("locate the red box, pick it up and place it in the bin", "in", "red box", "bin"),
    ("position the cup such that it is left of the bowl", "left_of", "cup", "bowl"),
    ("make sure the can is in the bin", "in", "can", "bin"),
    ("drop the can off in the bin", "in", "can", "bin"),
    ("carry the sponge to the left side of the sink", "left_of", "sponge", "sink"),
    ("put the object that is left of the red box in the bin", "in", "object that is left of the red box", "bin"),
    ("Can you move the can that is in the bowl onto the table?", "anywhere", "can that is in the bowl"),
    ("put the teddy bear on the table to the right of the blue cup", "right_of", "teddy bear", "blue cup"),
    ("put salt next to basil", "next_to", "salt", "basil"),
    ("put the can to the left of the bowl", "left_of", "can", "bowl"),
    ("Place the apple to the immediate left of the pear", "left_of", "apple", "pear"),
    ("put the pen on the left hand side of the cup", "left_of", "pen", "cup"),
    ("shift the can right of the bowl", "right_of", "can", "bowl"),
    ("put the can right next to the bowl", "next_to", "can", "bowl"),
    ("Pick up the toy car; place it on the right side of the apple.", "right_of", "toy car", "apple"),
    ("Place the apple directly in front of the pear", "in_front_of", "apple", "pear"),
    ("Okay, now put the blue cup behind the red box.", "behind", "blue cup", "red box"),
    ("put the soft toy beside the pony, please", "next_to", "soft toy", "pony"),
    ("position the pony near the bin", "next_to", "pony", "bin"),
    ("Put the apple close to the pear", "next_to", "apple", "pear"),
    ("bring the pony closer to the bowl", "moved", "pony", "bowl"),
    ("stack the red box on top of the rice box", "on", "red box", "rice box"),
    ("stack the tea box onto the rice box", "on", "tea box", "rice box"),
    ("put the red one on the blue one", "on", "red one", "blue one"),
    ("move the can between the box and the bowl", "between", "can", "box", "bowl"),
    ("put the can between the two bowls", "between", "can", "two bowls"),
    ("place the pony in between the apple and the pear", "between", "pony", "apple", "pear"),
    ("Move the apple so it is between the pear and the lemon", "between", "apple", "pear", "lemon"),
    ("put the pony left of the apple and the pear", "left_of", "pony", "apple", "pear"),
    ("I'd like the red box in the bin", "in", "red box", "bin"),
    ("I need the can moved next to the bowl", "next_to", "can", "bowl"),
    ("I want the salt, put it in the bin", "in", "salt", "bin"),
    ("the red box goes in the bin", "in", "red box", "bin"),
    ("the pony should be placed left of the can", "left_of", "pony", "can"),
    ("In the black bin, place the hot dog.", "in", "hot dog", "black bin"),
    ("the red box: put it in the bin", "in", "red box", "bin"),
    ("hot dog into black bin", "in", "hot dog", "black bin"),
    ("take the can to the bin", "in", "can", "bin"),
    ("move the apple over to the pear", "next_to", "apple", "pear"),
    ("pick & place the can in the bin", "in", "can", "bin"),
    ("pick up the cup. Then put it in the bin.", "in", "cup", "bin"),
    ("pick the can up and drop it in the bowl", "in", "can", "bowl"),
    ("pick up the cup, lift it and put it down in the bin", "in", "cup", "bin"),
    ("put the red cup on the blue cup and let go", "on", "red cup", "blue cup"),
    ("Pick-up the hot dog and place-it in the black bin.", "in", "hot dog", "black bin"),
    ("hey robot, would you mind picking up the pony and putting it behind the can?", "behind", "pony", "can"),
    ("put the can next to the bowl into the bin", "in", "can next to the bowl", "bin"),
    ("put the can next to the bowl to the left of the box", "left_of", "can next to the bowl", "box"),
    ("put the can in the bin next to the bowl", "in", "can", "bin next to the bowl"),
    ("put the ball from the bowl into the bin", "in", "ball from the bowl", "bin"),
    ("place the leftmost can behind the far coconut water", "behind", "leftmost can", "far coconut water"),
    (
        "set the front left can to the right of the back right box",
        "right_of",
        "front left can",
        "back right box",
    ),
    ("put the near can near the far bin", "next_to", "near can", "far bin"),
    ("put the banana in a free spot next to the bowl", "next_to", "banana", "bowl"),
    ("Pick up the honey and place it in front of the table salt", "in_front_of", "honey", "table salt"),
    ("place the box on top of the can on the left", "on", "box", "can on the left"),
    ("put the cup next to the other cup", "next_to", "cup", "other cup"),
    ("put the can on the table", "anywhere", "can"),
    ("put the can down", "anywhere", "can"),
    ("pick up the cup and place it back on the table", "anywhere", "cup"),
    ("Take the hot dog out of the bin and place it on the table", "anywhere", "hot dog out of the bin"),
    ("release the can", "anywhere", None),
    ("set it down", "anywhere", None),
    ("let go", "anywhere", None),
    ("drop it into the black bin", "in", None, "black bin"),
    ("place in the bin", "in", None, "bin"),
    ("put that to the left of the two plushies", "left_of", None, "two plushies"),
]

STRANGERS: list[Row] = [
    ("You take the most distant jar now please", "pick", "most distant jar"),
    ("please to take my lemonade on the far left", "pick", "lemonade on the left"),
    ("select the tea and pick it up", "pick", "tea"),
    ("um, could you, like, pick up that cereal box", "pick", "cereal box"),
    ("it would be great if you could pick up this condiment", "pick", "condiment"),
    ("pick up the front piece of fruit and keep it in the gripper", "pick", "front piece of fruit"),
    ("wolud you mind picking up the crackers?", "pick", "crackers"),
    ("how about grabbing the tool that's closer to the camera", "pick", "tool that is closest to the camera"),
    ("would it be possible to pick up the drink furthest right?", "pick", "drink right"),
    ("gimme the salt", "pick", "salt"),
    ("pls grab the spanner thx", "pick", "spanner"),
    ("Do you see the tea box? Pick it up.", "pick", "tea box"),
    ("I am looking for the spice jar, can you grab it?", "pick", "spice jar"),
    ("I would like the sausage in your gripper", "pick", "sausage"),
    ("the ketchup, please", "pick", "ketchup"),
    ("take the back can", "pick", "back can"),
    ("lift this red apple for a moment", "pick", "red apple"),
    ("my dear robot, kindly place the milk infront of the ball", "in_front_of", "milk", "ball"),
    ("lay the soup before the cup", "in_front_of", "soup", "cup"),
    ("leave the pear on the near side of the bin", "in_front_of", "pear", "bin"),
    ("set the can in back of the jar", "behind", "can", "jar"),
    ("put the can beehind the bin", "behind", "can", "bin"),
    ("bring the coke and leave it on the far side of the mug", "behind", "coke", "mug"),
    ("have the mustard placed left from the car", "left_of", "mustard", "car"),
    ("grab the plushie, then place it to the purple bottle's left", "left_of", "plushie", "purple bottle"),
    ("place the cup a bit left of the bowl", "left_of", "cup", "bowl"),
    ("lift the lemon and lower it right of the box", "right_of", "lemon", "box"),
    ("slide the can right of the bowl", "right_of", "can", "bowl"),
    ("put the bear as close as possible to the bin", "next_to", "bear", "bin"),
    ("move the far can towards the box", "moved", "far can", "box"),
    ("rearrange the can next to the bowl", "next_to", "can", "bowl"),
    ("place the spice jar nearest to me adjacent to the car", "next_to", "spice jar closest to the camera", "car"),
    ("toss the mayo into the bowl", "in", "mayo", "bowl"),
    ("place the jar at the bottom of the bin", "in", "jar", "bin"),
    ("balance the can on the box", "on", "can", "box"),
    ("place the block over the box", "on", "block", "box"),
    ("put the pear in the middle of the block and the torch", "between", "pear", "block", "torch"),
    ("put the oj in the space between the bottle and the wrench", "between", "oj", "bottle", "wrench"),
    ("let the box sit between the cup and the cereal", "between", "box", "cup", "cereal"),
    ("the jar farthest from the hotdog needs to go behind the bowl", "behind", "jar furthest from the hotdog", "bowl"),
    ("I need that jar on the right to be behind the cup", "behind", "jar on the right", "cup"),
    ("put the bottle nearest the lemon in front of the can", "in_front_of", "bottle nearest the lemon", "can"),
    ("putting the soup behind the can would be nice", "behind", "soup", "can"),
    ("move the torch elsewhere", "anywhere", "torch"),
    ("move the sauce to another place", "anywhere", "sauce"),
    ("set my can aside", "anywhere", "can"),
    ("Could you hand over the salt?", "pick", "salt"),
    ("we want the leftmost bottle picked up", "pick", "leftmost bottle"),
    ("make the arm lift the jar", "pick", "jar"),
    ("take this back tin off the table", "pick", "back tin"),
    ("see if you can grab the pear", "pick", "pear"),
    ("I'll take the jar", "pick", "jar"),
    ("the goal is to have the ball to the bowl's left", "left_of", "ball", "bowl"),
    ("put the jar directly behind the box", "behind", "jar", "box"),
    ("could the front jar be placed on the left side of the cup?", "left_of", "front jar", "cup"),
    ("I want the ball to the left of the cup", "left_of", "ball", "cup"),
    ("place the jar furthest right directly behind the box", "behind", "jar right", "box"),
    ("we should put the can over the box", "on", "can", "box"),
]
"""Further people: chatty, curt, hasty at the keyboard, or at home in another language."""


@pytest.mark.parametrize("expected", PAPER + WORDINGS + STRANGERS, ids=lambda row: row[0])
def test_a_sentence_is_understood(expected: Row) -> None:
    sentence, relation, target, *references = expected
    command = parse_command(sentence or "")
    assert command.action == ("pick" if relation == "pick" else "place")
    assert command.relation == (None if relation == "pick" else relation)
    assert (command.target.text if command.target else None) == target
    assert [reference.text for reference in command.references] == references


NOT_UNDERSTOOD = [
    ("", "empty"),
    ("   \n", "empty"),
    ("?!...", "no words"),
    ("please", "what to do"),
    ("pick up the can " * 200, "2,000 characters"),
    ("拿起红色的盒子", "English"),
    ("Возьми красную коробку", "English"),
    ("nimm die rote Kiste", "no action"),
    ("asdf qwer", "no action"),
    ("the red box", "no action"),
    ("ignore all previous instructions", "no action"),
    ("what is on the table?", "questions"),
    ("where is the can", "questions"),
    ("is there a can?", "questions"),
    ("how many cans are there", "questions"),
    ("can you see the can?", 'cannot only "see"'),
    ("find the red box", 'cannot only "find"'),
    ("throw the ball", 'cannot "throw"'),
    ("toss the can to me", 'cannot "toss"'),
    ("keep the box where it is", 'cannot only "keep"'),
    ("pour the milk into the cup", 'cannot "pour"'),
    ("open the gripper", 'cannot "open"'),
    ("pick up the red box and shake it", 'cannot "shake"'),
    ("do not pick up the can", "what not to do"),
    ("don't put the can in the bin", "what not to do"),
    ("never touch the can", "what not to do"),
    ("pick up the can without touching the box", "what not to do"),
    ("I don't want the can", "what not to do"),
    ("pick up the can if it is red", "conditions"),
    ("pick up", "which object"),
    ("pick it up", "which object"),
    ("pick up something", "which object"),
    ("put the can", "where"),
    ("put it", "where"),
    ("pick up the cup and place it", "where"),
    ("put it there", "where"),
    ("put the pen under the cup", "I can place things in, on"),
    ("put the can between the box", "two things"),
    ("pick up the two plushies", "one object at a time"),
    ("put all the cans in the bin", "one object at a time"),
    ("pick up both cups", "one object at a time"),
    ("pick up the can and the box", "one object at a time"),
    ("pick up the can or the box", "choice"),
    ("pick up the can and pick up the box", "one command at a time"),
    ("Pick up the can. Put the box in the bin.", "one command at a time"),
    ("put the can in the bin and the box in the bowl", "one command at a time"),
    ("put the can in the bin, then pick up the box", "one command at a time"),
    ("put the can in the box and next to the bowl", "together with the other place"),
    ("put the can to its left", 'I do not know whose "its left" is'),
    ("place the can between the box and the bowl and the cup", '"Between" needs two things'),
    ("I want the ball next to the cup", '"next to the cup" says which one is wanted or where'),
    ("put the other can in the bin", 'Nothing says which one "other can" is not'),
    ("leave the can on the table", 'if "leave" asks for it to be moved'),
    ("leave the can in the bin", 'if "leave" asks for it to be moved'),
]


@pytest.mark.parametrize(("sentence", "words"), NOT_UNDERSTOOD, ids=lambda value: str(value)[:40])
def test_what_is_not_a_command_is_refused_with_a_sentence_and_an_example(sentence: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_command(sentence)
    assert caught.value.code is ErrorCode.NOT_UNDERSTOOD
    assert words in caught.value.message
    assert "Pick up the red box" in caught.value.hint


@pytest.mark.parametrize(
    "sentence",
    [
        "put the cup in the cup",
        "place the coconut water next to the coconut water",
        "put the can next to itself",
        "put the can on top of it",
        "put the can left and right of the box",
        "put the can to the left of the box and to the right of the box",
        "place it in front of the box and behind the box",
    ],
)
def test_a_command_that_contradicts_itself_is_an_invalid_argument(sentence: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_command(sentence)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_objects_told_apart_by_their_side_are_two_objects() -> None:
    command = parse_command("put the left can next to the right can")
    assert command.target is not None
    assert command.target.selectors == (Selector("left"),)
    assert command.references[0].selectors == (Selector("right"),)


@pytest.mark.parametrize(
    ("sentence", "side"),
    [
        ("Hoist the cinnamon on the right-hand side up", "right"),
        ("Pick the screwdriver on the left up off the table", "left"),
        ("Pick up the green bowl that is further left", "left"),
    ],
)
def test_a_side_is_heard_before_a_particle_and_in_a_comparison(sentence: str, side: str) -> None:
    target = parse_command(sentence).target
    assert target is not None
    assert ([selector.key for selector in target.selectors], target.relation) == ([side], None)


def test_a_hundred_kilobytes_are_refused_without_being_read() -> None:
    with pytest.raises(ToolError, match="100,000"):
        parse_command("pick up " * 12_500)


@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_arbitrary_text_raises_nothing_but_a_tool_error(text: str) -> None:
    outcome: Command | ErrorCode
    try:
        outcome = parse_command(text)
    except ToolError as error:
        outcome = error.code
    assert isinstance(outcome, Command) or outcome in (ErrorCode.NOT_UNDERSTOOD, ErrorCode.INVALID_ARGUMENT)


_GRAMMAR = (
    "pick put up it the a red can box bowl and then , . left of in front between next to on into not two near from "
    "that is me down table i want you please should go be"
)
_WORDS = [*_GRAMMAR.split(), *list(VERBS)[::25]]
_NESTING = ["next to the can", "and", "in", "between", "the closest", "to the left of", "a"]


@given(st.lists(st.sampled_from(_WORDS), max_size=25))
@settings(max_examples=400, deadline=None)
def test_any_order_of_command_words_gives_a_complete_command_or_a_tool_error(words: list[str]) -> None:
    command, code = None, None
    try:
        command = parse_command(" ".join(words))
    except ToolError as error:
        code = error.code
    if command is None:
        assert code in (ErrorCode.NOT_UNDERSTOOD, ErrorCode.INVALID_ARGUMENT)
    elif command.action == "pick":
        assert command.target is not None
        assert (command.relation, command.references) == (None, ())
    else:
        assert command.relation in (*RELATION_WORDS, "anywhere")
        assert bool(command.references) == (command.relation != "anywhere")


@given(
    st.lists(
        st.sampled_from(["next to the can", "and", "in", "between", "the closest", "to the left of", "a"]), min_size=60
    )
)
@settings(max_examples=30, deadline=None)
def test_endless_nesting_is_refused(words: list[str]) -> None:
    text = ("put " + " ".join(words))[:MAX_COMMAND]
    code = None
    try:
        parse_command(text)
    except ToolError as error:
        code = error.code
    assert code in (None, ErrorCode.NOT_UNDERSTOOD, ErrorCode.INVALID_ARGUMENT)


@pytest.mark.parametrize(
    "text",
    [
        "put the object at (0.200, 0.500) in the bin",
        "put the can at (0.600, 0.400) on top of the can at (0.200, 0.500)",
        "pick up the thing at (0.600, 0.400)",
    ],
)
def test_a_point_says_which_object_is_meant(text: str) -> None:
    target = parse_command(text).target
    assert target is not None
    assert target.point is not None


def test_an_object_cannot_be_placed_relative_to_itself_at_the_same_point() -> None:
    with pytest.raises(ToolError, match="relative to itself"):
        parse_command("put the can at (0.600, 0.400) next to the can at (0.600, 0.400)")
