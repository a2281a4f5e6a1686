// A camera's picture that is pointed at: plain JPEG over HTTP, asked for only while it is shown; any zoom, any pixel ratio.
const STALE_S = 2; // a picture that is older than this is greyed
const ZOOMS = [1, 1.5, 2, 3, 4];
const LAYERS = { target: "thing", gripper: "grasp", path: "path", place: "place", obstacles: "obstacles", free: "free space", depth: "depth" };
const MARKED = ["target", "gripper", "path", "place"]; // layers of the motion that is planned
const KEPT = "toolhand-layers";
const remembered = () => { try { return JSON.parse(localStorage.getItem(KEPT) ?? "[]").filter((layer) => layer in LAYERS); } catch { return []; } };
const remember = (layers) => { try { localStorage.setItem(KEPT, JSON.stringify(layers)); } catch { /* as long as the page */ } };
export const PictureView = {
  template: `
    <section class="panel picture" aria-label="Camera">
      <header>
        <label>Camera <select v-model="camera" data-testid="camera"><option value="scene">scene</option><option value="wrist">wrist</option></select></label>
        <span class="chip" :class="{ warn: stale }" data-testid="picture-age">{{ ageText }}</span>
        <span class="picture-zoom">
          <button type="button" class="button small" data-testid="zoom-out" aria-label="Smaller" :disabled="zoom === 0" @click="setZoom(zoom - 1)">&minus;</button>
          <button type="button" class="button small" data-testid="zoom-in" aria-label="Larger" :disabled="zoom === zooms.length - 1" @click="setZoom(zoom + 1)">+</button>
        </span>
      </header>
      <fieldset class="picture-layers" aria-label="Layers over the picture">
        <label v-for="(name, key) in names" :key="key"><input type="checkbox" :value="key" v-model="layers" :data-testid="'layer-' + key"><i :class="'layer-' + key" aria-hidden="true"></i>{{ name }}</label>
      </fieldset>
      <div class="picture-window" ref="window" :style="{ aspectRatio: aspect }">
        <div class="picture-whole" ref="whole" :class="{ stale, pointable: pointable }" :style="{ width: 100 * zooms[zoom] + '%' }" tabindex="0" role="application" data-testid="picture"
             :aria-label="'Picture of the ' + camera + ' camera. Arrow keys move the cross, Enter points.'"
             @pointerdown="press" @pointerup="release" @keydown="key" @blur="cross = null">
          <img v-if="src" ref="img" :src="src" alt="" draggable="false" @load="loaded" data-testid="picture-img">
          <div v-else class="picture-none">{{ error || 'No picture has come yet.' }}</div>
          <template v-if="camera === 'scene'">
            <span v-for="(p, k) in points" :key="'p' + k" class="mark" :style="place(p)" :data-testid="'mark-' + (k + 1)">{{ k + 1 }}</span>
            <button v-for="c in candidates" :key="'c' + c.index" type="button" class="mark candidate" :style="place(c.point)" :data-testid="'candidate-mark-' + (c.index + 1)"
              :aria-label="'Choose ' + (c.index + 1) + ', ' + c.label" :disabled="!operates" @pointerdown.stop @pointerup.stop @click.stop="$emit('candidate', c.index)">{{ c.index + 1 }}</button>
            <span v-if="cross" class="cross" :style="place(cross)"></span>
          </template>
        </div>
      </div>
      <p v-if="unmarked" class="muted picture-unmarked" role="status" data-testid="unmarked">No motion is planned now: thing, grasp, path and place are shown while one is.</p>
      <p v-if="said" class="notice warn" role="status">{{ said }}</p>
    </section>`,
  props: { points: Array, candidates: Array, operates: Boolean },
  emits: ["point", "candidate"],
  data() {
    return { camera: "scene", layers: remembered(), names: LAYERS, marks: null, zoom: 0, zooms: ZOOMS, src: "", stamp: "", aspect: "4 / 3", error: "", cross: null, said: "", ageS: null, pressed: null };
  },
  computed: {
    stale() { return this.src !== "" && this.ageS !== null && this.ageS > STALE_S; },
    ageText() {
      if (this.ageS === null) return this.error || "waiting";
      return this.ageS > STALE_S ? `${Math.floor(this.ageS)} s old` : "live";
    },
    unmarked() { return this.marks === 0 && this.layers.some((layer) => MARKED.includes(layer)); },
    pointable() { return this.operates && this.camera === "scene"; },
  },
  watch: {
    camera() { this.forget(); },
    layers() { this.forget(); remember(this.layers); },
  },
  mounted() {
    this.seen = true;
    this.observer = new IntersectionObserver((entries) => { this.seen = entries[0].isIntersecting; });
    this.observer.observe(this.$el);
    this.ticking = setInterval(() => { if (this.shownMs) this.ageS = this.baseAgeS + (performance.now() - this.shownMs) / 1000; }, 500);
    this.running = true;
    this.follow();
  },
  unmounted() {
    this.running = false;
    this.observer.disconnect();
    clearInterval(this.ticking);
    this.abort?.abort();
    if (this.src) URL.revokeObjectURL(this.src);
  },
  methods: {
    forget() { this.stamp = ""; this.abort?.abort(); },
    place(p) { return { left: 100 * p[0] + "%", top: 100 * p[1] + "%" }; },
    async follow() {
      const pause = (ms) => new Promise((done) => setTimeout(done, ms));
      while (this.running) {
        if (document.hidden || !this.seen) { await pause(300); continue; }
        this.abort = new AbortController();
        const camera = this.camera, layers = this.layers.join(",");
        try {
          const answer = await fetch(`/pictures/${camera}.jpg?after=${encodeURIComponent(this.stamp)}&layers=${encodeURIComponent(layers)}`, { signal: this.abort.signal });
          if (answer.status === 200) {
            const picture = await answer.blob();
            if (camera !== this.camera || layers !== this.layers.join(",")) continue;
            await this.show(picture, answer.headers);
            if (layers) await pause(500);
          } else if (answer.status !== 204) {
            this.error = layers && answer.status === 503 ? (await answer.text()).slice(0, 300) : "no picture";
            await pause(1000);
          }
        } catch (error) {
          if (error.name !== "AbortError") { this.error = "the console does not answer"; await pause(1000); }
        }
      }
    },
    async show(picture, headers) {
      const src = URL.createObjectURL(picture), before = this.src;
      const ready = new Image();
      ready.src = src;
      try { await ready.decode(); } catch { URL.revokeObjectURL(src); this.error = "a picture cannot be read"; return; }
      this.src = src;
      this.error = "";
      this.stamp = headers.get("X-Stamp") ?? "";
      this.marks = headers.has("X-Marks") ? Number(headers.get("X-Marks")) : null;
      this.baseAgeS = Number(headers.get("X-Age")) || 0;
      this.shownMs = performance.now();
      this.ageS = this.baseAgeS;
      this.aspect = `${ready.naturalWidth} / ${ready.naturalHeight}`;
      if (before) setTimeout(() => URL.revokeObjectURL(before), 1000);
    },
    loaded() { this.$el.dataset.pictures = String(Number(this.$el.dataset.pictures ?? 0) + 1); },
    setZoom(zoom) {
      const window = this.$refs.window;
      const middle = [(window.scrollLeft + window.clientWidth / 2) / window.scrollWidth, (window.scrollTop + window.clientHeight / 2) / window.scrollHeight];
      this.zoom = Math.min(Math.max(zoom, 0), ZOOMS.length - 1);
      this.$nextTick(() => {
        window.scrollLeft = middle[0] * window.scrollWidth - window.clientWidth / 2;
        window.scrollTop = middle[1] * window.scrollHeight - window.clientHeight / 2;
      });
    },
    // Pointer events have fractions of a pixel, which a click has not.
    at(event) {
      const box = this.$refs.img.getBoundingClientRect();
      return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    },
    press(event) { this.pressed = event.button === 0 ? [event.clientX, event.clientY] : null; },
    release(event) {
      if (!this.pressed || !this.$refs.img) return;
      const moved = Math.hypot(event.clientX - this.pressed[0], event.clientY - this.pressed[1]);
      this.pressed = null;
      if (moved < 6) this.point(this.at(event));
    },
    point(at) {
      if (!this.operates) { this.said = "This page observes."; return; }
      if (this.camera !== "scene") { this.said = "Point at the picture of the scene camera."; return; }
      if (at.some((value) => !(value >= 0 && value <= 1))) return;
      this.said = "";
      this.$emit("point", { point: at, stamp: this.stamp, camera: this.camera });
    },
    key(event) {
      const step = event.shiftKey ? 0.05 : 0.005, now = this.cross ?? [0.5, 0.5];
      const move = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
      if (move) this.cross = [0, 1].map((k) => Math.min(1, Math.max(0, now[k] + move[k])));
      else if (event.key === "Enter" && event.target === this.$refs.whole) this.point(this.cross ?? now);
      else if (event.key === "+" || event.key === "-") this.setZoom(this.zoom + (event.key === "+" ? 1 : -1));
      else return;
      event.preventDefault();
    },
  },
};
