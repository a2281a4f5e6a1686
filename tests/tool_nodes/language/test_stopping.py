"""Words of stopping are heard in whatever sentence, and commands are not taken for them."""

from pathlib import Path

import pytest

from toolhand.tool_nodes.language.stopping import is_stop
from toolhand.tool_nodes.plain_yaml import load

_STOPS = (
    "stop|Stop!|STOOOP|stop stop stop|robot please stop|stop that's wrong|cancel task|freeze|cease|no stop|halt|whoa"
    "|woooah|wait|wait wait wait|abort|Abort mission!|that's enough|please stop moving now|I said stop it"
    "|can you stop moving please|you need to stop right now|make it stop|s t o p|sto p|S-T-O-P|stopstopstop"
    "|STOP — you'll hit the glass|That’s wrong, stop! you will break it|my hand is in there stop it|don’t move"
    "|DON'T MOVE|do not move|no no no|No!|hold it|hold on a second|hang on|hold still robot|emergency stop|e-stop"
    "|hit the brakes|stop the arm before it hits the cup|pause that please|quit|cancel that|cease and desist"
    "|oh god stop|stpo|ＳＴＯＰ|stop‐it|would you stop already|stay where you are|shut it off|why won't you stop"
    "|put it next to the bus stop|stop, put that down|no more|no wait|just a second|not yet|leave the rest"
    "|stop moving the box over there|Kinova, halt immediately"
)
_COMMANDS = (
    "pick up the red box|put it next to the bus stop sign|pick up the orange, no wait, the lemon|go on|no, the lemon"
    "|not that one|the left one|slow down|hold the can|hold it over the bin|put it back|undo|yes|never mind"
    "|pick up the stopwatch|put the halter in the bin|drop it|lift it higher|the second one|keep going|continue"
    "|put the can in the bin. wait, the bowl|move a bit to the left|is that the one|do it|one more|not the pear"
    "|go ahead|hold on to the cup|what are you doing|unless I stop you, put the pear in the bowl|not so fast|again"
)
STOPS, COMMANDS = _STOPS.split("|"), _COMMANDS.split("|")
FOLDERS = ("bench/dialogue", "tests/bench/said")


@pytest.mark.parametrize("words", STOPS)
def test_whoever_says_a_word_of_stopping_is_heard(words: str) -> None:
    assert is_stop(words)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_that_merely_holds_such_a_word_is_carried_out(words: str) -> None:
    assert not is_stop(words)


def test_of_all_sentences_of_the_benchmarks_nearly_none_brakes_that_is_none_of_stopping() -> None:
    said = {
        line
        for folder in FOLDERS
        for file in Path(folder).glob("*.yaml")
        if file.name not in ("voices.yaml", "unheard.yaml")
        for line in sentences(load(file.read_bytes()))
    }
    braking = sorted(line for line in said if is_stop(line))
    begun = tuple("stop wait pause halt freeze abort hold hang don't stand keep stay".split())  # noqa: SIM905
    assert len(said) > 1600
    assert len(braking) < 25
    mistaken = [line for line in braking if not line.lower().startswith(begun)]
    assert mistaken == ["no", "put the salt in the bin until I say stop"]


def sentences(document: object) -> list[str]:
    """What is said in a list of sentences and their meanings."""
    if isinstance(document, str):
        said, arrow, _ = document.partition(" => ")
        return [said.strip()] if arrow else []
    parts = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    return [line for part in parts for line in sentences(part)]
