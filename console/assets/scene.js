// Shows and hides the 3D view; whether it is shown stays in this browser. A browser without WebGL says so. One that draws
// without a GPU can stand still for seconds while it begins, and with it the stop button: there the view gets a window of
// its own.
(() => {
  const KEY = "toolhand-3d";
  const remembered = () => { try { return localStorage.getItem(KEY) === "shown"; } catch { return false; } };
  const remember = (shown) => { try { localStorage.setItem(KEY, shown ? "shown" : ""); } catch { /* as long as the page */ } };

  // "none", "software" or "gpu".
  const drawing = () => {
    try {
      const gl = document.createElement("canvas").getContext("webgl2");
      if (!gl) return "none";
      const names = gl.getExtension("WEBGL_debug_renderer_info");
      const name = String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
      gl.getExtension("WEBGL_lose_context")?.loseContext();
      return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name) ? "software" : "gpu";
    } catch { return "none"; }
  };

  const show = (section, shown) => {
    const place = section.querySelector(".scene-place");
    const button = section.querySelector(".scene-show");
    button.setAttribute("aria-expanded", String(shown));
    button.firstElementChild.textContent = shown ? "Hide" : "Show";
    if (shown && !place.firstChild) {
      const view = document.createElement("iframe");
      view.src = "/scene/";
      view.title = "3D view of the robot";
      view.dataset.testid = "view-frame";
      place.append(view);
    } else if (!shown) {
      place.replaceChildren();
    }
  };

  const begin = (section) => {
    section.dataset.begun = "yes";
    const how = drawing();
    section.dataset.drawing = how;
    section.querySelector(".scene-without").hidden = how !== "none";
    section.querySelector(".scene-apart").hidden = how !== "software";
    section.querySelector(".scene-show").hidden = how !== "gpu";
    section.querySelector(".scene-window").hidden = how === "none";
    if (how === "gpu" && remembered()) show(section, true);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".scene-show");
    if (!button) return;
    const shown = button.getAttribute("aria-expanded") !== "true";
    remember(shown);
    show(button.closest(".scene"), shown);
  });
  const look = () => {
    const section = document.querySelector(".scene:not([data-begun])");
    if (section) begin(section);
  };
  new MutationObserver(look).observe(document.documentElement, { childList: true, subtree: true });
  look();
})();
