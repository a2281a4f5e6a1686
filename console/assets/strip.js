// The safety strip. It shares nothing with what draws the page: own elements, own requests, own timers.
"use strict";
(() => {
  const strip = document.getElementById("safety-strip");
  if (!strip || window.toolhandSafety) return;

  const BEAT_MS = 1000; // one heartbeat a second
  const BEAT_TIMEOUT_MS = 2000; // a heartbeat without an answer for so long is lost
  const SILENT_MS = 3000; // three lost heartbeats: the stop server is not reachable
  const ANSWER_MS = 35000; // a stop answers within the deadline of the motion node, 5 to 30 s
  const SLOW_MS = 2000; // an arm at full speed brakes within 1 s; after so long a person should use the emergency stop
  const TWICE_MS = 1000; // two presses of Esc within this time are a stop
  const MOST_STOPS = 3; // a browser opens 6 connections to a server: clicks never wait for one of them
  const EMERGENCY = "Use the emergency stop.";
  const HOW = matchMedia("(hover: none)").matches ? "Touch STOP." : "Click STOP, or press Esc twice."; // a phone has no Esc

  const server = strip.dataset.stop;
  const find = (id) => strip.querySelector(`[data-testid="${id}"]`);
  const stateText = find("safety-state"), said = find("safety-text"), button = find("stop"), reset = find("reset");
  const resetBox = strip.querySelector(".safety-reset"), again = strip.querySelector(".safety-again");
  const WORDS = {
    waiting: "Connecting", ready: "Stop ready", sending: "Stop sent", stopped: "Stopped",
    unconfirmed: "NOT CONFIRMED", unreachable: "UNREACHABLE",
  };

  let heardMs = performance.now(); // when the stop server was last heard of
  let beat = null; // its last heartbeat
  let answer = null; // {state, message} of the last stop, until a heartbeat knows better
  let hint = "", word = "", operator = false, asking = false, resetting = false;
  const stops = []; // stops without an answer yet: {sentMs, abort}
  const record = { stops: [], beats: 0 };

  function wanted() {
    const now = performance.now();
    if (stops.length) {
      const waitedMs = now - stops[0].sentMs;
      const slow = waitedMs > SLOW_MS ? ` Not confirmed after ${(waitedMs / 1000).toFixed(0)} s. ${EMERGENCY}` : " Waiting until the joints are measured at rest.";
      return ["sending", slow];
    }
    if (answer) return [answer.state, answer.message.replace(/^Stopped: a/, "A")];
    if (!beat || now - heardMs > SILENT_MS) {
      if (!beat && now - heardMs <= SILENT_MS) return ["waiting", "Asking the stop server."];
      return ["unreachable", `The stop server does not answer. ${EMERGENCY}`];
    }
    if (beat.graph !== "reachable") return ["unreachable", `${beat.message} ${EMERGENCY}`];
    if (beat.latched && !beat.confirmed) return ["unconfirmed", `A stop is latched, but nobody has measured the arm at rest. Press STOP again. ${EMERGENCY}`];
    if (beat.latched) return ["stopped", "Nothing moves until a reset."];
    return ["ready", word || HOW];
  }

  function show() {
    const [state, message] = wanted();
    const text = hint || message;
    if (strip.dataset.state !== state) strip.dataset.state = state;
    if (stateText.textContent !== WORDS[state]) stateText.textContent = WORDS[state];
    if (said.textContent !== text) said.textContent = text;
    const offered = operator && state === "stopped";
    if (resetBox.hidden === offered) resetBox.hidden = !offered;
    if (!offered) asking = false;
    reset.hidden = asking;
    again.hidden = !asking;
    reset.disabled = find("reset-yes").disabled = resetting;
  }

  // -- the stop --------------------------------------------------------------------------------

  function stop(how, event) {
    const abort = new AbortController();
    const mine = { sentMs: performance.now(), abort };
    while (stops.length >= MOST_STOPS) stops.shift().abort.abort();
    stops.push(mine);
    answer = null;
    hint = "";
    asking = false;
    show();
    const late = setTimeout(() => abort.abort(), ANSWER_MS);
    fetch(`${server}/api/stop`, { method: "POST", body: "", credentials: "include", cache: "no-store", keepalive: true, signal: abort.signal })
      .then(async (response) => {
        const body = await response.json().catch(() => ({}));
        heardMs = performance.now();
        if (response.ok && body.state in WORDS) return body;
        const why = response.status === 401 ? "This browser is not logged in: the stop was not sent. Log in." : `The stop server refused the stop (${response.status}).`;
        return { state: "unreachable", message: `${why} ${EMERGENCY}` };
      })
      .catch(() => abort.signal.aborted
        ? { state: "unconfirmed", message: `The stop was sent, and no answer has come. ${EMERGENCY}` }
        : { state: "unreachable", message: `The stop was not delivered: the stop server does not answer. ${EMERGENCY}` })
      .then((body) => {
        clearTimeout(late);
        record.stops.push({ ...body, how, pressedMs: event.timeStamp, tookMs: performance.now() - mine.sentMs });
        if (record.stops.length > 500) record.stops.shift();
        const place = stops.indexOf(mine);
        if (place < 0) return; // a later stop has taken its place
        stops.splice(place, 1);
        answer = body;
        show();
      });
  }

  // A press is enough: nobody waits for the finger to leave the button. What follows it is the same gesture.
  let pressedMs = -Infinity;
  button.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pressedMs = performance.now();
    stop("press", event);
  });
  strip.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const pressed = performance.now() - pressedMs < 2000;
    pressedMs = -Infinity;
    if (!pressed) stop("key", event);
  });

  let escapeMs = -Infinity;
  function onKey(event) {
    if (event.key !== "Escape" || event.repeat) return;
    const now = performance.now();
    if (now - escapeMs <= TWICE_MS) {
      escapeMs = -Infinity;
      stop("escape", event);
      return;
    }
    escapeMs = now;
    hint = "Press Esc again within a second to stop the arm.";
    show();
    setTimeout(() => { hint = ""; show(); }, TWICE_MS);
  }
  window.addEventListener("keydown", onKey, true);

  // Keys pressed in the 3D view go to its own window, which has the same origin.
  const listening = new WeakSet();
  function listenIn(frame) {
    try {
      const inner = frame.contentWindow;
      if (inner && !listening.has(inner)) {
        inner.addEventListener("keydown", onKey, true);
        listening.add(inner);
      }
    } catch { /* a frame of another origin keeps its keys */ }
  }
  function listenInFrames() {
    for (const frame of document.querySelectorAll("iframe")) {
      if (!frame.dataset.safety) {
        frame.dataset.safety = "1";
        frame.addEventListener("load", () => { listening.delete(frame.contentWindow); listenIn(frame); });
      }
      listenIn(frame);
    }
  }

  // -- the reset -------------------------------------------------------------------------------

  reset.addEventListener("click", () => { asking = true; show(); find("reset-no").focus(); });
  find("reset-no").addEventListener("click", () => { asking = false; show(); reset.focus(); });
  find("reset-yes").addEventListener("click", async () => {
    resetting = true;
    show();
    let message;
    try {
      const given = await fetch("/safety/ticket", { method: "POST", body: strip.dataset.page, cache: "no-store", signal: AbortSignal.timeout(5000) });
      const ticket = await given.json();
      if (!given.ok) throw new Error(ticket.message);
      const response = await fetch(`${server}/api/reset`, { method: "POST", body: ticket.ticket, credentials: "include", cache: "no-store", signal: AbortSignal.timeout(10000) });
      const body = await response.json();
      message = body.message;
      if (response.ok && body.state === "reset") { answer = null; beat = { ...beat, latched: false }; }
    } catch (error) {
      message = error.name === "TimeoutError" || error instanceof TypeError ? "Not reset: no answer came." : `Not reset: ${error.message}`;
    }
    resetting = asking = false;
    hint = message;
    show();
    setTimeout(() => { if (hint === message) { hint = ""; show(); } }, 6000);
  });

  // -- the way out of the page -------------------------------------------------------------------

  // A page that is left for one that does not come has no button any more: NiceGUI reloads by itself where its server
  // hangs, and a server that is just started anew refuses. So the next page is only asked for once its server answers.
  let leaving = null, mayLeave = false;
  async function leaveOnceAnswered(address, again) {
    const mine = (leaving = {});
    for (;;) {
      const answers = await fetch("/safety/strip.js", { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(5000) })
        .then((response) => response.ok, () => false);
      if (leaving !== mine) return; // another page is wanted now
      if (answers) break;
      hint = "The pages do not answer, and are loaded once they do. The stop button works meanwhile.";
      show();
      await new Promise((resolve) => setTimeout(resolve, BEAT_MS));
    }
    hint = "";
    mayLeave = true;
    setTimeout(() => { mayLeave = false; }, SILENT_MS);
    if (again) location.reload();
    else location.assign(address);
  }
  window.navigation?.addEventListener("navigate", (event) => {
    const to = event.destination;
    if (mayLeave || !event.cancelable || event.navigationType === "traverse" || to.sameDocument) return;
    if (event.formData || event.downloadRequest !== null || new URL(to.url).origin !== location.origin) return;
    event.preventDefault();
    leaveOnceAnswered(to.url, event.navigationType === "reload");
  });

  // -- the heartbeat ---------------------------------------------------------------------------

  // An answer stands until the robot says something else: a reset, or a stop that was confirmed after all.
  function isOver(last, now) {
    const reachable = now.graph === "reachable";
    if (last.state === "stopped") return !reachable || !now.latched;
    if (last.state === "unconfirmed") return !reachable || (now.latched ? now.confirmed : now.stops > last.stops);
    if (!reachable) return false;
    last.message = "The last stop was not delivered. The robot is reachable again: press STOP once more.";
    return now.latched;
  }

  async function heartbeat() {
    try {
      const response = await fetch(`${server}/api/beat`, { credentials: "include", cache: "no-store", signal: AbortSignal.timeout(BEAT_TIMEOUT_MS) });
      const body = await response.json();
      if (response.ok) {
        heardMs = performance.now();
        beat = body;
        record.beats += 1;
        if (answer && !stops.length && isOver(answer, body)) answer = null;
      }
    } catch { /* shown once it lasts */ }
    show();
  }
  async function live() {
    const began = performance.now();
    listenInFrames();
    await heartbeat();
    setTimeout(live, Math.max(50, BEAT_MS - (performance.now() - began)));
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden) heartbeat(); });
  setInterval(show, 250);
  live();

  window.toolhandSafety = {
    record,
    /** Say which page this is, and whether it operates: only then a reset is offered. */
    setOperator(page, is) { strip.dataset.page = page; operator = Boolean(is); show(); },
    /** What the page says while nothing is to be said of the stop. */
    setWord(text) { word = text; show(); },
  };
})();
