// Whether this page operates or observes: beats once a second, shows the role in the header, and asks for the seat.
const TAB = "toolhand-tab";
function tabName() {
  try {
    let name = sessionStorage.getItem(TAB);
    if (!name) sessionStorage.setItem(TAB, (name = crypto.randomUUID?.() ?? String(Math.random()).slice(2)));
    return name;
  } catch { return ""; }
}
export default {
  template: `
    <div class="seat" :class="{ plain: !loud }" data-testid="seat">
      <div v-if="status.asking" class="notice warn" role="alert">
        <span>Somebody asks to operate. Without an answer the seat is given in {{ status.answer_in_s }} s.</span>
        <button type="button" class="button small" data-testid="seat-keep" @click="$emit('keep')">Keep the seat</button>
        <button type="button" class="button small" data-testid="seat-give" @click="$emit('give')">Give it</button>
      </div>
      <div v-else-if="status.role === 'observer'" class="notice">
        <span v-if="status.asked" role="status">The operator is asked; you get the seat in {{ status.answer_in_s }} s at the latest.</span>
        <span v-else>This page observes. It can stop the arm, and nothing else.</span>
        <button v-if="!status.asked" type="button" class="button small" data-testid="seat-ask" @click="$emit('ask')">Operate</button>
      </div>
      <div v-if="status.word?.text" class="notice warn" data-testid="word">
        <span>{{ status.word.text }}</span>
        <a v-if="status.word.href" class="button small" :href="status.word.href">Look at it</a>
      </div>
      <div v-if="status.error" class="notice bad" role="alert" data-testid="seat-error">{{ status.error }}</div>
    </div>`,
  props: { status: { type: Object, default: () => ({}) } },
  emits: ["enter", "beat", "ask", "keep", "give", "observe"],
  computed: {
    loud() { return Boolean(this.status.asking || this.status.error || this.status.word?.text || this.status.role === "observer"); },
  },
  watch: {
    status: {
      immediate: true,
      handler(status) {
        window.toolhandSafety?.setWord(status.word?.strip ?? "");
        const chip = document.querySelector(".frame-role");
        if (!chip || !status.role) return;
        chip.dataset.role = status.role;
        const others = status.observers - (status.role === "observer" ? 1 : 0);
        chip.textContent = status.role + (others > 0 ? ` (${others} observe)` : "");
      },
    },
  },
  mounted() {
    const observe = new URLSearchParams(location.search).has("observe");
    this.$emit("enter", { tab: tabName(), observe });
    this.timer = setInterval(() => this.$emit("beat"), 1000);
  },
  unmounted() { clearInterval(this.timer); },
};
