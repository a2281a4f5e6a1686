// Dark and light: as the system has it, until somebody chooses; the choice stays in this browser.
(() => {
  const KEY = "toolhand-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const show = () => {
    const dark = (chosen() ?? (system.matches ? "dark" : "light")) === "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    if (window.Quasar) Quasar.Dark.set(dark);
  };
  show();
  system.addEventListener("change", show);
  addEventListener("load", show);
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.(".frame-theme")) return;
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem(KEY, next); } catch { /* the choice lasts as long as the page */ }
    document.documentElement.dataset.theme = next;
    if (window.Quasar) Quasar.Dark.set(next === "dark");
  });
})();
