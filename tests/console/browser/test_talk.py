"""Talking in the browser: what is said and heard, questions, the queue, reloads, and what an observer cannot do."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.browser.conftest import Served, serving
from tests.waiting import until
from toolhand.agent_node.pointed import LONGEST_LABEL

MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>{{constructor.constructor("window.hit=1")()}}'


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Served]:
    """A console of one test."""
    with serving(tmp_path) as served:
        yield served


def say(page: Any, text: str) -> None:
    page.get_by_test_id("sentence").fill(text)
    page.get_by_test_id("sentence").press("Enter")


def test_a_sentence_is_carried_out_and_its_events_are_shown(fresh: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(fresh.url)
    say(page, "pick up the can")
    page.get_by_test_id("entry-ended").filter(has_text="Done: pick up the can").wait_for()
    for kind in ("said", "thought", "call", "result", "picture", "refusal", "note", "ended"):
        assert page.get_by_test_id(f"entry-{kind}").count() == 1, kind
    assert page.get_by_test_id("sentence").input_value() == ""
    shown = page.get_by_test_id("entry-picture").locator("img")
    until(lambda: shown.evaluate("img => img.naturalWidth") == 640)
    call = page.get_by_test_id("entry-call")
    assert not call.locator("pre").is_visible()
    call.locator("summary").click()
    assert call.locator("pre").inner_text() == '{"camera": "scene"}'
    page.get_by_test_id("show-steps").uncheck()
    assert page.get_by_test_id("entry-thought").count() == 0


def test_what_others_wrote_is_text_and_never_markup(fresh: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(fresh.url)
    for k, verb in enumerate(("fail", "hello")):
        say(page, f"{verb} {MARKUP}")
        page.get_by_test_id("entry-ended").nth(k).wait_for()
    assert page.get_by_test_id("entry-said").last.locator(".entry-text").inner_text() == f"hello {MARKUP}"
    assert page.evaluate("window.hit") is None
    page.reload()
    page.get_by_test_id("entry-said").last.wait_for()
    assert page.evaluate("window.hit") is None
    assert page.locator("main script, main img[src=x]").count() == 0


def test_words_of_policies_tools_and_objects_are_text_and_never_markup(
    fresh: Served, open_page: Callable[..., Any]
) -> None:
    page = open_page(fresh.url)
    say(page, f"echo {MARKUP}")
    page.get_by_test_id("question").wait_for()
    assert page.get_by_test_id("question").locator("p").inner_text() == MARKUP
    assert page.get_by_test_id("candidate-2").inner_text() == f"2 {MARKUP[:LONGEST_LABEL]}"
    page.get_by_test_id("candidate-2").click()
    page.get_by_test_id("entry-ended").wait_for()
    for kind in ("told", "command", "thought", "result", "refusal", "note", "question", "ended"):
        assert page.get_by_test_id(f"entry-{kind}").locator(".entry-text").inner_text() == MARKUP, kind
    page.get_by_test_id("entry-call").locator("summary").click()
    assert MARKUP in page.get_by_test_id("entry-call").locator("summary").inner_text()
    for _ in range(2):
        assert page.evaluate("window.hit") is None
        assert page.locator("main script, main img[src=x]").count() == 0
        page.reload()
        page.get_by_test_id("entry-ended").wait_for()


def test_a_question_is_answered_by_a_number_a_word_or_a_click(fresh: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(fresh.url)
    page.get_by_test_id("picture-img").wait_for()
    answers: list[str] = []

    def newest() -> list[dict[str, Any]]:
        return fresh.asked("answer")[len(answers) :]

    for how in ("button", "mark", "picture", "words", "keys"):
        say(page, "ask which")
        page.get_by_test_id("question").wait_for()
        box = page.get_by_test_id("picture-img").bounding_box()
        match how:
            case "button":
                page.get_by_test_id("candidate-2").click()
            case "mark":
                page.get_by_test_id("candidate-mark-1").click()
            case "picture":
                page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 0.4 * box["height"])
            case "words":
                say(page, "the left one")
            case "keys":
                page.get_by_test_id("candidate-1").press("Enter")
        page.get_by_test_id("question").wait_for(state="detached")
        answers.append(until(newest)[0]["words"])
    assert answers[:2] == ["(0.750, 0.500)", "(0.250, 0.500)"]
    assert answers[3:] == ["the left one", "(0.250, 0.500)"]
    assert answers[2].startswith("(0.70")


def test_sentences_wait_and_cancelling_holds_them_back(fresh: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(fresh.url)
    say(page, "wait for me")
    page.get_by_test_id("running").wait_for()
    say(page, "hello one")
    say(page, "hello two")
    until(lambda: page.get_by_test_id("queue").locator("li").count() == 2)
    page.get_by_test_id("queue").get_by_role("button", name="Drop hello one").click()
    page.get_by_test_id("cancel").click()
    page.get_by_test_id("held-back").wait_for()
    assert [each["text"] for each in fresh.asked("said")] == ["wait for me"]
    page.get_by_test_id("go-on").click()
    page.get_by_test_id("entry-ended").filter(has_text="hello two").wait_for()
    assert [each["text"] for each in fresh.asked("said")] == ["wait for me", "hello two"]


def test_a_reload_loses_neither_the_chat_nor_the_half_written_sentence(
    fresh: Served, open_page: Callable[..., Any]
) -> None:
    page = open_page(fresh.url)
    say(page, "wait for me")
    page.get_by_test_id("running").wait_for()
    page.get_by_test_id("picture-img").wait_for()
    box = page.get_by_test_id("picture-img").bounding_box()
    page.mouse.click(box["x"] + 100, box["y"] + 100)
    page.get_by_test_id("sentence").fill("pick up thi")
    page.reload()
    page.get_by_test_id("composer").wait_for()
    assert page.get_by_test_id("sentence").input_value() == "pick up thi"
    assert page.get_by_test_id("mark-1").count() == 1
    assert page.get_by_test_id("entry-said").inner_text().endswith("wait for me")
    assert page.get_by_test_id("running").count() == 1, "a reload within the grace cancels nothing"
    time.sleep(1.0)
    assert not fresh.asked("cancel")


def test_the_command_is_cancelled_when_the_last_operator_page_is_gone(
    fresh: Served, open_page: Callable[..., Any]
) -> None:
    page = open_page(fresh.url)
    say(page, "wait for me")
    page.get_by_test_id("running").wait_for()
    began = time.monotonic()
    page.close()
    until(lambda: fresh.asked("cancel"), 20.0)
    assert time.monotonic() - began > 2.0
    again = open_page(fresh.url)
    again.get_by_test_id("entry-page").filter(has_text="page is gone").wait_for()


def test_without_a_page_nothing_is_listened_to(fresh: Served, open_page: Callable[..., Any]) -> None:
    def listened() -> int:
        last = fresh.asked("listening")[-1:]
        return sum(v for each in last for k, v in each.items() if k not in ("what", "at"))

    page = open_page(fresh.url)
    page.get_by_test_id("picture-img").wait_for()
    assert until(listened) >= 1
    page.close()
    until(lambda: listened() == 0, 30.0)


def test_an_observer_has_no_composer_and_the_server_refuses_what_it_sends(
    fresh: Served, open_page: Callable[..., Any]
) -> None:
    operator = open_page(fresh.url)
    operator.get_by_test_id("composer").wait_for()
    observer = open_page(fresh.url)
    observer.get_by_test_id("role").filter(has_text="observer").wait_for()
    assert observer.get_by_test_id("composer").count() == 0
    assert observer.get_by_test_id("stop").is_visible()
    say(operator, "wait for me")
    observer.get_by_test_id("running").wait_for()
    assert observer.get_by_test_id("cancel").count() == 0
    forged = """() => {
      const talk = getElement(Number(document.querySelector('.talk').id.slice(1)));
      talk.$emit('say', { text: 'hello forged', pointed: [] });
      talk.$emit('cancel');
    }"""
    observer.evaluate(forged)
    observer.get_by_test_id("talk-error").filter(has_text="observes").wait_for()
    assert [each["text"] for each in fresh.asked("said")] == ["wait for me"]
    assert not fresh.asked("cancel")


def test_the_keyboard_alone_points_and_speaks(fresh: Served, open_page: Callable[..., Any]) -> None:
    page = open_page(fresh.url)
    page.get_by_test_id("picture-img").wait_for()
    page.get_by_test_id("picture").focus()
    for key in ("Shift+ArrowLeft", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    page.get_by_test_id("mark-1").wait_for()
    page.keyboard.type("pick up this one")
    page.keyboard.press("Enter")
    page.get_by_test_id("entry-ended").wait_for()
    said = fresh.asked("said")[0]
    assert said["text"] == "pick up this one"
    assert said["points"] == [[pytest.approx(0.45), pytest.approx(0.495)]]


def test_layers_are_switched_on_together_and_kept_by_the_browser(
    console: Served, open_page: Callable[..., Any]
) -> None:
    page = open_page(console.url)
    page.get_by_test_id("picture-img").wait_for()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_test_id("layer-path").check()
    page.get_by_test_id("unmarked").wait_for()
    assert "No motion is planned now" in page.get_by_test_id("unmarked").inner_text()
    page.get_by_test_id("layer-obstacles").check()
    until(lambda: page.wait_for_timeout(50) or any("layers=path%2Cobstacles" in url for url in asked))
    page.reload()
    page.get_by_test_id("picture-img").wait_for()
    shown = [
        each for each in ("target", "path", "obstacles", "depth") if page.get_by_test_id(f"layer-{each}").is_checked()
    ]
    assert shown == ["path", "obstacles"]
    page.get_by_test_id("layer-path").uncheck()
    page.get_by_test_id("unmarked").wait_for(state="detached")
