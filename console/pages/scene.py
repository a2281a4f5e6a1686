"""The place of the 3D view in a page: nothing of it is loaded before somebody wants to see it."""

from __future__ import annotations

from nicegui import ui

from toolhand.console.pages.frame import PageContext


def scene_panel(page: PageContext) -> None:
    """Draw a button that shows the 3D view; without WebGL it says so, and the images have all of it."""
    ui.add_head_html('<link rel="stylesheet" href="/assets/scene.css"><script src="/assets/scene.js" defer></script>')
    with ui.element("section").classes("panel scene").props('data-testid="view"'):
        with ui.element("header"):
            ui.label("3D view")
            with (
                ui.element("button")
                .classes("button small scene-show")
                .props('type="button" hidden aria-expanded="false" data-testid="view-show"')
            ):
                ui.label("Show")
            with (
                ui.element("a")
                .classes("button small scene-window")
                .props('href="/scene/" target="_blank" rel="noopener" hidden data-testid="view-window"')
            ):
                ui.label("Own window")
        ui.element("div").classes("scene-place").props('data-testid="view-place"')
        _notice(
            "scene-apart",
            "view-apart",
            "This browser draws 3D without a graphics card. It may stand still while it begins, so that the view has a "
            "window of its own.",
        )
        _notice(
            "scene-without",
            "view-without-webgl",
            "This browser has no WebGL, so that there is no 3D view. The layers of the camera picture show all of "
            "it: thing, grasp, path and place of a motion, obstacles, free space and depth.",
        )


def _notice(name: str, test_id: str, text: str) -> None:
    with ui.element("p").classes(f"notice {name}").props(f'hidden data-testid="{test_id}"'):
        ui.label(text)
