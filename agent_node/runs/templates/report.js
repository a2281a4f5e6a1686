const film = document.querySelector(".film");
const frames = [...film.querySelectorAll("img")];
const [button, slider, clock] = ["button", "input", "output"].map((name) => film.querySelector(name));
let timer = 0;
const show = (index) => {
  frames.forEach((frame, i) => { frame.hidden = i !== index; });
  slider.value = index;
  clock.value = frames[index].dataset.time + " s";
};
const pause = () => { clearInterval(timer); timer = 0; button.textContent = "Play"; };
const step = () => {
  if (+slider.value < frames.length - 1) show(+slider.value + 1);
  else pause();
};
button.onclick = () => {
  if (timer) return pause();
  if (+slider.value === frames.length - 1) show(0);
  timer = setInterval(step, 120);
  button.textContent = "Pause";
};
slider.oninput = () => { pause(); show(+slider.value); };
film.querySelector(".controls").hidden = false;
show(0);
