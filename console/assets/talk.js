// Talking and pointing. Whatever was said, thought or answered is shown as text; nothing of it is ever markup.
import { PictureView } from "/assets/picture.js";
const KEPT = "toolhand-talk"; // the half-written sentence and its points, which outlive a reload of the page
const MOST_SHOWN = 300;
const NAMES = {
  said: "You", told: "Robot", command: "Command", thought: "Thinks", call: "Calls", result: "Result", picture: "Picture",
  note: "Note", refusal: "Refused", question: "Asks", answer: "You", ended: "Robot", page: "Console",
};
export default {
  components: { PictureView },
  template: `
    <div class="talk">
      <div class="talk-more"><slot></slot></div>
      <picture-view class="talk-picture" :points="points.map((p) => p.point)" :candidates="placed" :operates="state.operates" @point="pointAt" @candidate="choose"></picture-view>
      <section class="panel chat" aria-label="Conversation">
        <header>
          <span>Conversation</span>
          <span class="chip" :class="state.reachable ? 'good' : 'bad'" data-testid="graph">{{ state.reachable ? 'robot reached' : 'no robot' }}</span>
          <label class="chat-all"><input type="checkbox" v-model="steps" data-testid="show-steps"> steps</label>
        </header>
        <div v-if="!state.reachable && state.sentence" class="notice bad" role="status" data-testid="graph-sentence">{{ state.sentence }}</div>
        <a class="skip" href="#after" data-testid="skip">Skip the conversation</a>
        <ol class="chat-log" ref="log" tabindex="0" aria-label="Conversation" aria-live="polite" data-testid="log" @scroll="scrolled">
          <li v-if="!entries.length" class="chat-empty">Say what to do. “What is on the table?” tells what there is. Or click a thing in the picture and say “pick up this one”; click a second place and say “put it here”.</li>
          <li v-for="e in shown" :key="e.number" v-memo="[e.number]" class="entry" :class="e.kind" :data-testid="'entry-' + e.kind" :data-number="e.number">
            <span class="entry-who">{{ names[e.kind] ?? e.kind }}</span>
            <div class="entry-body">
              <details v-if="e.kind === 'call'"><summary>{{ e.text }}</summary><pre>{{ e.detail }}</pre></details>
              <a v-else-if="e.kind === 'picture'" :href="'/talk/pictures/' + e.number + '.jpg'" target="_blank" rel="noopener"><img :src="'/talk/pictures/' + e.number + '.jpg'" :alt="'Picture ' + e.text" @load="toEnd" @error="gone"></a>
              <p v-else><span v-if="e.code" class="chip bad">{{ e.code }}</span><span class="entry-text">{{ e.text }}</span></p>
              <small v-if="e.detail && e.kind !== 'call'" class="muted">{{ e.detail }}</small>
              <span v-if="e.run_dirs.length" class="entry-runs"><a v-for="run in e.run_dirs" :key="run" :href="'/runs?run=' + encodeURIComponent(base(run))" data-testid="run-link">report {{ base(run) }}</a></span>
            </div>
          </li>
        </ol>
        <span id="after" tabindex="-1"></span>
        <div v-if="state.running" class="chat-now" role="status" data-testid="running">
          <span class="spin" aria-hidden="true"></span>
          <span class="chat-now-text">{{ state.cancelling ? 'Being cancelled: ' : 'In progress: ' }}{{ state.running }}</span>
          <button v-if="state.operates" type="button" class="button small danger" data-testid="cancel" :disabled="state.cancelling" @click="$emit('cancel')">Cancel</button>
        </div>
        <div v-if="state.held_back" class="notice warn chat-held" role="status" data-testid="held-back">
          <span>{{ state.held_back }}</span>
          <span v-if="state.operates"><button type="button" class="button small" data-testid="go-on" @click="$emit('go_on')">Go on</button>
          <button type="button" class="button small" data-testid="drop-all" @click="$emit('drop', 0)">Drop them</button></span>
        </div>
        <ol v-if="state.waiting.length" class="chat-queue" tabindex="0" aria-label="Waiting sentences" data-testid="queue">
          <li v-for="w in state.waiting" :key="w.number"><span>{{ w.text }}</span>
            <button v-if="state.operates" type="button" class="button small" :aria-label="'Drop ' + w.text" @click="$emit('drop', w.number)">Drop</button></li>
        </ol>
        <div v-if="state.question" class="chat-question" role="alertdialog" aria-label="Question of the robot" data-testid="question">
          <p>{{ state.question.text }}</p>
          <div class="chat-candidates" v-if="state.operates">
            <button v-for="(c, k) in state.question.candidates" :key="k" type="button" class="button" :data-testid="'candidate-' + (k + 1)" @click="choose(k)"><b>{{ k + 1 }}</b> {{ c.label }}</button>
          </div>
        </div>
        <form v-if="state.operates" class="chat-say" data-testid="composer" @submit.prevent="say">
          <div v-if="points.length" class="chat-points">
            <span v-for="(p, k) in points" :key="k" class="point-chip"><b>{{ k + 1 }}</b> ({{ p.point[0].toFixed(3) }}, {{ p.point[1].toFixed(3) }})
              <button type="button" :aria-label="'Remove point ' + (k + 1)" :data-testid="'point-remove-' + (k + 1)" @click="removePoint(k)">&times;</button></span>
          </div>
          <textarea v-model="text" ref="text" rows="2" maxlength="2000" :placeholder="hint" aria-label="What the robot is to do" data-testid="sentence" @keydown.enter.exact.prevent="say"></textarea>
          <button type="submit" class="button primary" data-testid="say">{{ state.question ? 'Answer' : state.running ? 'Say next' : 'Say' }}</button>
        </form>
        <p v-if="error" class="notice bad" role="alert" data-testid="talk-error">{{ error }}</p>
      </section>
    </div>`,
  props: { first: { type: Array, default: () => [] }, begun: { type: Object, default: () => ({}) } },
  emits: ["say", "point", "candidate", "cancel", "go_on", "drop", "caught_up"],
  data() {
    return { entries: this.first, state: this.begun, text: "", points: [], error: "", steps: true, names: NAMES, follows: true, top: 0 };
  },
  computed: {
    shown() {
      const hidden = this.steps ? [] : ["thought", "call", "result", "note", "refusal", "picture", "command"];
      return this.entries.filter((e) => !hidden.includes(e.kind));
    },
    placed() {
      return (this.state.question?.candidates ?? []).map((c, index) => ({ ...c, index })).filter((c) => c.point);
    },
    hint() {
      if (this.state.question) return "Answer in words, with a number, or by a click in the picture";
      return this.points.length ? "Such as: pick up this one" + (this.points.length > 1 ? ", put it here" : "") : "Say what to do";
    },
  },
  watch: { text() { this.keep(); } },
  created() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
      this.text = String(kept.text ?? "");
      this.points = Array.isArray(kept.points) ? kept.points : [];
    } catch { /* nothing was kept */ }
  },
  mounted() {
    this.toEnd();
    this.sized = new ResizeObserver(() => this.toEnd());
    this.sized.observe(this.$refs.log);
  },
  unmounted() { this.sized.disconnect(); },
  methods: {
    keep() { try { sessionStorage.setItem(KEPT, JSON.stringify({ text: this.text, points: this.points })); } catch { /* it lasts as long as the page */ } },
    base(path) { return String(path).split("/").filter(Boolean).pop() ?? ""; },
    gone(event) { event.target.replaceWith(document.createTextNode("not kept any more; it is in the report")); },
    hear(entries, state) {
      const newest = this.entries.length ? this.entries[this.entries.length - 1].number : 0;
      this.entries.push(...entries.filter((e) => e.number > newest).map(Object.freeze));
      if (this.entries.length > MOST_SHOWN) this.entries.splice(0, this.entries.length - MOST_SHOWN);
      if (state) this.state = state;
      this.error = "";
      if (entries.length) this.toEnd();
    },
    refuse(text) { this.error = text; },
    took() { this.text = ""; this.points = []; this.error = ""; this.keep(); },
    // What comes while a scroll event is under way is no wish to stay where one is: only a way up is.
    scrolled() {
      const log = this.$refs.log;
      if (log.scrollHeight - log.scrollTop - log.clientHeight < 40) this.follows = true;
      else if (log.scrollTop < this.top - 2) this.follows = false;
      this.top = log.scrollTop;
    },
    toEnd() { if (this.follows) this.$nextTick(() => { const log = this.$refs.log; if (log) log.scrollTop = log.scrollHeight; }); },
    say() {
      if (!this.text.trim() && !(this.state.question && this.points.length)) return;
      this.$emit("say", { text: this.text, pointed: this.points });
    },
    choose(index) { if (this.state.question) this.$emit("candidate", { number: this.state.question.number, index }); },
    pointAt(pointed) {
      if (this.placed.length) { this.$emit("say", { text: "", pointed: [pointed] }); return; }
      if (this.points.length >= 8) { this.error = "At most 8 points go with a sentence."; return; }
      this.points.push(pointed);
      this.keep();
      this.$emit("point", pointed);
      this.$refs.text?.focus();
    },
    removePoint(k) { this.points.splice(k, 1); this.keep(); },
  },
};
