"""An utterance of another language is answered in that language, and English never is."""

import pytest

from tests.agent_node.dialogue.operators import TextRobot, dialogue
from toolhand.agent_node.dialogue.languages import answer_in_its_language
from toolhand.tool_nodes.language.words import tokenize, words_only
from toolhand.tool_nodes.results import ErrorCode

ENGLISH = """
    do a backflip; do a flip as in a show;
    do a somersault; do the dishes; do it again for me; do as I do; do no harm; no do not; as you do;
    me as well; a no; is it a do or a no; do a u turn; no can do; do a handstand as a joke; play a la carte; leg day;
    bring lemon; bring a coin; place a coin; place a can; tag a can; pose for me; a place in the sun; die;
    what was that; was it you; in or on; bring it in; no a lemon; one more; do a push up; take a nap; as is; on me;
    do me a favour; me as well do it;
    um; e; o; a; uma; do a barrel roll; come on; do it; me do it; no no no; do that as a test; sing me a song;
    tell me a joke; make a cake; take a bow; jump; do a little dance; up a bit;
    do a dance in the bin; place it as a lid; no place; set a table; do on; as a can
"""


@pytest.mark.parametrize("words", [each.strip() for each in ENGLISH.replace("\n", " ").split(";")])
def test_a_short_english_sentence_is_not_answered_in_another_language(words: str) -> None:
    assert answer_in_its_language(words, words_only(tokenize(words))) == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("toma el limón de la mesa", "Solo entiendo inglés"),
        ("prends le citron s'il te plaît", "Je ne comprends que l'anglais"),
        ("pegue o limão da mesa", "Só entendo inglês"),
        ("nimm die Banane", "Ich verstehe nur Englisch"),
        ("请把柠檬拿起来", "我只懂英语"),
        ("नींबू उठाओ", "मैं केवल अंग्रेज़ी"),
        ("التقط الليمونة", "أفهم الإنجليزية فقط"),
        ("লেবুটি তোলো", "আমি শুধু ইংরেজি"),
        ("возьми лимон", "Я понимаю только по-английски"),
        ("bring die Dose in die Schale", "Englisch"),
        ("was ist das", "Englisch"),
        ("pose la boîte sur la table", "anglais"),
        ("coge la caja", "inglés"),
        ("pega a caixa", "inglês"),
    ],
)
def test_another_language_is_answered_in_it_and_moves_nothing(words: str, said: str) -> None:
    robot = TextRobot()
    turn = dialogue(robot).say(words)
    assert (turn.error_code, robot.said) == (ErrorCode.NOT_UNDERSTOOD, [])
    assert said in turn.answer
