"use strict";
// Steps through each run: a slider, buttons and keys move one position; the row, the source line, the values and the heap follow.
for (const run of document.querySelectorAll("section.run-section")) {
  const data = JSON.parse(run.querySelector("script[type='application/json']").textContent);
  const rows = [...run.querySelectorAll("tr[data-step]")];
  const slider = run.querySelector("input[type=range]");
  const now = run.querySelector(".now");
  const values = run.querySelector(".values tbody");
  const heap = run.querySelector(".heap");
  const all = run.querySelector("input[type=checkbox]");
  let at = 0;
  const shown = () => rows.map((row, i) => i + 1).filter(n => all.checked || data.steps[n - 1].matters);
  // The values after step n: those at the start, with every change up to there.
  const shared = new Set(data.start.map(v => v.name));
  // A variable that is not there at the start is a local, which threads may have under one name.
  const known = (step, name) => shared.has(name) || !/^\w+$/.test(name) || data.threads.length < 2 ? name : name + " of " + data.threads[step.thread];
  const after = n => {
    const map = new Map(data.start.map(v => [v.name, v.value]));
    for (const step of data.steps.slice(0, n)) for (const change of step.changes) map.set(known(step, change.name), change.after);
    return map;
  };
  const clear = (cls, root) => root.querySelectorAll("." + cls).forEach(e => e.classList.remove(cls));
  function go(n, focus) {
    at = Math.max(0, Math.min(data.steps.length, n));
    slider.value = at;
    clear("current", run);
    clear("current", document.querySelector(".source") ? document : run);
    const step = data.steps[at - 1];
    if (step) {
      const row = rows[at - 1];
      row.classList.add("current");
      if (focus) row.scrollIntoView({ block: "nearest" });
      const line = step.anchor && document.getElementById(step.anchor);
      if (line) line.classList.add("current");
    }
    now.textContent = step ? "step " + at + " of " + data.steps.length + ": thread " + data.threads[step.thread] + ", " + step.text : "before the first step";
    const [old, current] = [after(Math.max(0, at - 1)), after(at)];
    values.replaceChildren(...[...current].map(([name, value]) => {
      const tr = document.createElement("tr");
      const [head, cell] = [document.createElement("td"), document.createElement("td")];
      head.textContent = name;
      const changed = at > 0 && old.get(name) !== value;
      cell.textContent = changed && old.has(name) ? old.get(name) + " \u2192 " + value : value;
      if (changed) cell.className = "changed";
      tr.append(head, cell);
      return tr;
    }));
    if (heap) {
      const frame = n => { let found = 0; data.heapAt.forEach((step, i) => { if (step <= n) found = i; }); return found; };
      const parse = svg => document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
      const title = text => { const p = document.createElement("p"); p.className = "faint"; p.textContent = text; return p; };
      const [before, present] = [frame(at - 1), frame(at)];
      heap.replaceChildren(...(before === present || at === 0
        ? [title("heap"), parse(data.heaps[present])]
        : [title("heap before"), parse(data.heaps[before]), title("heap after"), parse(data.heaps[present])]));
    }
  }
  function move(by) {
    const list = [0, ...shown()];
    const next = by > 0 ? list.find(n => n > at) : list.findLast(n => n < at);
    if (next !== undefined) go(next, true);
  }
  const last = () => { const list = shown(); return list.length ? list[list.length - 1] : 0; };
  slider.addEventListener("input", () => go(Number(slider.value), true));
  run.querySelector(".back").addEventListener("click", () => move(-1));
  run.querySelector(".on").addEventListener("click", () => move(1));
  run.querySelector(".first").addEventListener("click", () => go(0, true));
  run.querySelector(".last").addEventListener("click", () => go(last(), true));
  all.addEventListener("change", () => { run.classList.toggle("brief", !all.checked); });
  rows.forEach((row, i) => row.addEventListener("click", () => go(i + 1)));
  run.addEventListener("keydown", event => {
    if (event.target.type === "range" || event.target.type === "checkbox") return;
    const keys = { ArrowLeft: () => move(-1), ArrowUp: () => move(-1), ArrowRight: () => move(1), ArrowDown: () => move(1), Home: () => go(0, true), End: () => go(last(), true) };
    if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });
  run.classList.add("brief");
  all.checked = false;
  go(last());
}
// Pictures grow and shrink by buttons; one that is larger than the page is moved by its scroll bars.
for (const frame of document.querySelectorAll(".pictures")) {
  const pictures = [...frame.querySelectorAll("svg")].map(svg => [svg, svg.getBoundingClientRect().width]);
  let scale = 1;
  const zoom = factor => {
    scale = factor === 0 ? 1 : Math.max(0.25, Math.min(8, scale * factor));
    for (const [svg, width] of pictures) {
      svg.style.maxWidth = scale === 1 ? "" : "none";
      svg.style.width = scale === 1 ? "" : width * scale + "px";
      svg.style.height = scale === 1 ? "" : "auto";
    }
  };
  frame.querySelector(".larger").addEventListener("click", () => zoom(1.5));
  frame.querySelector(".smaller").addEventListener("click", () => zoom(1 / 1.5));
  frame.querySelector(".fitting").addEventListener("click", () => zoom(0));
}
