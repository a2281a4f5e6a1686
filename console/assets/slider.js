// A slider over time: the browser's own, with its name and its keys. Vue keeps where it is, so that drawing the page anew
// does not move it.
export default {
  template: `<input class="time-slider" type="range" :min="begin" :max="end" :step="step" :aria-label="label" v-model.number="now" @input="$emit('moved', now)">`,
  props: { begin: Number, end: Number, step: Number, label: String },
  emits: ["moved"],
  data() { return { now: this.begin }; },
  methods: { go(to) { this.now = to; } },
};
