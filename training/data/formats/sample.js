const bar = document.querySelector(".filters");
const rows = [...document.querySelectorAll(".rollout")];
const inputs = ["kind", "truth", "verdict", "least", "words"].map((name) => bar.querySelector("." + name));
const [kind, truth, verdict, least, words] = inputs;
const apply = () => {
  const said = words.value.toLowerCase();
  let shown = 0;
  rows.forEach((row) => {
    const data = row.dataset;
    const keep = (!kind.value || data.kind === kind.value) && (!truth.value || data.truth === truth.value) &&
      (!verdict.value || data.verdict === verdict.value) && (least.value === "" || +data.total >= +least.value) &&
      (!said || row.querySelector(".sentence").textContent.toLowerCase().includes(said));
    row.hidden = !keep;
    shown += keep;
  });
  bar.querySelector("output").value = shown + " of " + rows.length;
};
bar.oninput = apply;
bar.hidden = false;
apply();
