"use strict";
/* Draws the figures of a report: lines with bands, clouds of points. No library, no network.
   A chart answers the mouse and the arrow keys; the legend switches series off and on. */
const litmus = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const remembered = new Map(); // chart id -> {view, hidden}: survives a live refresh
  let observer = null;

  const make = (name, attributes, parent) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (parent) parent.append(node);
    return node;
  };
  const element = (name, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
  };
  const color = (series) => `var(--c${series.color % 8})`;

  const show = (value) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (size >= 1000) return Math.round(value).toLocaleString("en");
    if (size >= 100) return value.toFixed(1);
    if (size >= 1) return value.toFixed(2);
    if (size === 0) return "0";
    return size < 0.001 ? value.toExponential(1) : value.toPrecision(3);
  };
  const showTick = (value) => {
    const size = Math.abs(value);
    if (size >= 1e6) return +(value / 1e6).toPrecision(4) + "M";
    if (size >= 1e4) return +(value / 1e3).toPrecision(4) + "k";
    if (size > 0 && size < 0.001) return value.toExponential(0);
    return String(+value.toPrecision(6));
  };

  function extent(values) {
    let low = Infinity, high = -Infinity;
    for (const value of values) if (value !== null && value !== undefined) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low > high ? [0, 1] : low === high ? [low - 0.5, high + 0.5] : [low, high];
  }
  function ticks(low, high, count) {
    const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(+(i * step).toPrecision(12));
    return found;
  }
  function logTicks(low, high) {
    const found = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
      for (const m of Math.log10(high / low) > 2.5 ? [1] : [1, 2, 5])
        if (m * 10 ** e >= low * 0.999 && m * 10 ** e <= high * 1.001) found.push(m * 10 ** e);
    return found;
  }
  function scaleY(panel, series) {
    const values = series.flatMap((s) => (s.low ? [...s.y, ...s.low, ...s.high] : s.y));
    if (panel.log) {
      const [low, high] = extent(values.filter((v) => v > 0));
      const a = Math.log(Math.max(low, 1e-12)), b = Math.log(Math.max(high, 1e-11));
      return { low, high, at: (v) => (v > 0 ? (Math.log(v) - a) / (b - a || 1) : null), ticks: logTicks(Math.max(low, 1e-12), high) };
    }
    let [low, high] = extent(values);
    const margin = (high - low) * 0.06;
    low -= margin; high += margin;
    return { low, high, at: (v) => (v - low) / (high - low), ticks: ticks(low, high, 5) };
  }

  function path(series, x, y, key = "y") {
    let text = "", pen = "M";
    series.x.forEach((value, i) => {
      const top = series[key][i] === null ? null : y(series[key][i]);
      if (top === null) { pen = "M"; return; }
      text += `${pen}${x(value).toFixed(1)} ${top.toFixed(1)}`;
      pen = "L";
    });
    return text;
  }
  function bandPath(series, x, y) {
    const there = [], back = [];
    series.x.forEach((value, i) => {
      if (series.low[i] === null || series.high[i] === null) return;
      const high = y(series.high[i]), low = y(series.low[i]);
      if (high === null || low === null) return;
      there.push(`${x(value).toFixed(1)} ${high.toFixed(1)}`);
      back.unshift(`${x(value).toFixed(1)} ${low.toFixed(1)}`);
    });
    return there.length ? `M${there.concat(back).join("L")}Z` : "";
  }

  class Chart {
    constructor(node, data) {
      this.node = node; this.data = data; this.id = node.dataset.chart;
      this.memory = remembered.get(this.id) || { view: 0, hidden: new Set() };
      remembered.set(this.id, this.memory);
      this.tip = element("div", { className: "tip", hidden: true });
      this.spoken = element("div", { className: "visually-hidden" });
      this.spoken.setAttribute("aria-live", "polite");
      this.position = null;
      node.addEventListener("pointermove", (event) => this.point(event));
      node.addEventListener("pointerdown", (event) => this.point(event));
      node.addEventListener("pointerleave", () => this.leave());
      node.addEventListener("blur", () => this.leave());
      node.addEventListener("keydown", (event) => this.key(event));
      this.controls();
      this.draw();
    }
    get view() { return this.data.views[Math.min(this.memory.view, this.data.views.length - 1)]; }
    visible(panel) { return panel.series.filter((s) => !this.memory.hidden.has(s.name)); }

    controls() {
      const bar = element("div", { className: "controls" });
      if (this.data.views.length > 1) {
        const views = element("div", { className: "views" });
        views.setAttribute("role", "group");
        views.setAttribute("aria-label", "horizontal axis");
        this.data.views.forEach((view, i) => {
          const button = element("button", { type: "button", textContent: view.name });
          button.setAttribute("aria-pressed", i === this.memory.view);
          button.onclick = () => {
            this.memory.view = i;
            [...views.children].forEach((b, j) => b.setAttribute("aria-pressed", j === i));
            this.leave(); this.draw();
          };
          views.append(button);
        });
        bar.append(views);
      }
      const panels = this.view.panels, several = panels.length > 1;
      for (const panel of panels) {
        const named = panel.series.filter((s) => !s.quiet);
        if (named.length > 1) bar.append(this.legend(named, several ? panel.y : null));
      }
      if (bar.childElementCount) this.node.before(bar);
    }

    legend(named, title) {
      const legend = element("div", { className: title ? "legend panel" : "legend" });
      if (title) legend.append(element("span", { textContent: title }));
      for (const series of named) {
        const name = series.name, hidden = this.memory.hidden;
        const mark = element("i"); mark.style.background = color(series);
        const button = element("button", { type: "button" }, mark, name);
        button.setAttribute("aria-pressed", !hidden.has(name));
        button.onclick = () => {
          hidden.has(name) ? hidden.delete(name) : hidden.add(name);
          button.setAttribute("aria-pressed", !hidden.has(name));
          this.leave(); this.draw();
        };
        legend.append(button);
      }
      return legend;
    }

    draw() {
      const width = Math.max(240, this.node.clientWidth);
      this.width = width;
      const panels = this.view.panels, tall = "tall" in this.node.dataset;
      const each = panels.length > 1 ? (tall ? 190 : 150) : Math.min(340, Math.max(220, width * 0.56));
      const left = 54, right = 14, gap = 26, bottom = 40;
      const all = panels.flatMap((panel) => this.visible(panel));
      let [xLow, xHigh] = extent(all.flatMap((s) => s.x));
      const isCloud = panels.some((p) => p.series.some((s) => s.kind === "points"));
      if (panels[0].diagonal) [xLow, xHigh] = extent(all.flatMap((s) => [...s.x, ...s.y]));
      if (isCloud) { const m = (xHigh - xLow) * 0.05; xLow -= m; xHigh += m; }
      const x = (v) => left + ((v - xLow) / (xHigh - xLow || 1)) * (width - left - right);
      const height = 8 + panels.length * each + (panels.length - 1) * gap + bottom;
      const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
      this.frames = panels.map((panel, place) => {
        const top = 8 + place * (each + gap), scale = scaleY(panel, this.visible(panel));
        if (panel.diagonal) { scale.low = xLow; scale.high = xHigh; scale.at = (v) => (v - xLow) / (xHigh - xLow); scale.ticks = ticks(xLow, xHigh, 5); }
        const y = (v) => { const at = scale.at(v); return at === null ? null : top + each * (1 - at); };
        this.drawPanel(svg, panel, { x, y, scale, top, each, left, right, width });
        return { panel, x, y, top, each };
      });
      const base = height - bottom;
      for (const value of ticks(xLow, xHigh, width < 480 ? 4 : 7)) {
        make("line", { x1: x(value), x2: x(value), y1: base, y2: base + 4, class: "axis" }, svg);
        make("text", { x: x(value), y: base + 17, "text-anchor": "middle" }, svg).textContent = showTick(value);
      }
      make("text", { x: left + (width - left - right) / 2, y: height - 4, "text-anchor": "middle" }, svg).textContent = this.view.x;
      this.cursor = make("line", { y1: 8, y2: base, class: "cursor", visibility: "hidden" }, svg);
      this.marks = make("g", {}, svg);
      Object.assign(this, { x, left, right, height, svg });
      this.node.replaceChildren(svg, this.tip, this.spoken);
    }

    drawPanel(svg, panel, f) {
      for (const value of f.scale.ticks) {
        const y = f.y(value);
        make("line", { x1: f.left, x2: f.width - f.right, y1: y, y2: y, class: "grid" }, svg);
        make("text", { x: f.left - 7, y: y + 4, "text-anchor": "end" }, svg).textContent = showTick(value);
      }
      make("line", { x1: f.left, x2: f.width - f.right, y1: f.top + f.each, y2: f.top + f.each, class: "axis" }, svg);
      const middle = f.top + f.each / 2;
      make("text", { transform: `translate(11 ${middle}) rotate(-90)`, "text-anchor": "middle" }, svg).textContent = panel.y;
      if (panel.diagonal) make("line", { x1: f.x(f.scale.low), y1: f.y(f.scale.low), x2: f.x(f.scale.high), y2: f.y(f.scale.high), class: "diagonal" }, svg);
      const shown = this.visible(panel);
      for (const s of shown) if (s.low) make("path", { d: bandPath(s, f.x, f.y), fill: color(s), opacity: 0.16 }, svg);
      for (const s of shown) {
        if (s.kind === "points") {
          const cloud = make("g", { fill: color(s), opacity: 0.62 }, svg);
          s.x.forEach((v, i) => s.y[i] !== null && make("circle", { cx: f.x(v).toFixed(1), cy: f.y(s.y[i]).toFixed(1), r: 2.7 }, cloud));
        } else {
          make("path", { d: path(s, f.x, f.y), fill: "none", stroke: color(s), "stroke-width": s.quiet ? 0.9 : 1.8, opacity: s.quiet ? 0.5 : 1, "stroke-linejoin": "round" }, svg);
          if (s.x.length === 1 && s.y[0] !== null) make("circle", { cx: f.x(s.x[0]), cy: f.y(s.y[0]), r: 3, fill: color(s) }, svg);
        }
      }
    }

    point(event) {
      const box = this.node.getBoundingClientRect();
      this.lookAt(event.clientX - box.left, event.clientY - box.top);
    }
    key(event) {
      const stepped = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") return this.leave();
      const places = this.places();
      if (!places.length) return;
      if (stepped) {
        const now = this.position === null ? (stepped > 0 ? -1 : places.length) : this.position;
        this.position = Math.max(0, Math.min(places.length - 1, now + stepped * (event.shiftKey ? 10 : 1)));
      } else if (event.key === "Home") this.position = 0;
      else if (event.key === "End") this.position = places.length - 1;
      else return;
      event.preventDefault();
      const place = places[this.position];
      this.lookAt(this.x(place.x), place.y === undefined ? 40 : this.frames[0].y(place.y), true);
    }
    places() {
      const series = this.frames.flatMap((f) => this.visible(f.panel));
      const cloud = series.filter((s) => s.kind === "points");
      if (cloud.length) return cloud.flatMap((s) => s.x.map((x, i) => ({ x, y: s.y[i] }))).sort((a, b) => a.x - b.x);
      const longest = series.reduce((a, b) => (b.x.length > (a ? a.x.length : 0) ? b : a), null);
      return longest ? longest.x.map((x) => ({ x })) : [];
    }

    lookAt(px, py, aloud = false) {
      if (px < this.left - 12 || px > this.width - this.right + 12) return this.leave();
      const found = [];
      for (const frame of this.frames) for (const s of this.visible(frame.panel)) {
        if (s.quiet) continue;
        let best = -1, distance = Infinity;
        s.x.forEach((v, i) => {
          if (s.y[i] === null) return;
          const dx = Math.abs(this.x(v) - px);
          const d = s.kind === "points" ? Math.hypot(dx, frame.y(s.y[i]) - py) : dx;
          if (d < distance) { distance = d; best = i; }
        });
        if (best >= 0) found.push({ s, i: best, distance, frame });
      }
      if (!found.length) return this.leave();
      found.sort((a, b) => a.distance - b.distance);
      const first = found[0], isCloud = first.s.kind === "points";
      const chosen = isCloud ? [first] : this.frames.flatMap((f) => found.filter((x) => x.frame === f));
      this.mark(chosen, first, isCloud);
      const at = first.s.x[first.i];
      const heading = element("b", { textContent: isCloud ? first.s.name : `${this.view.x}: ${show(at)}` });
      const rows = isCloud
        ? [[null, this.view.x, show(at)], [null, first.frame.panel.y, show(first.s.y[first.i])]]
        : chosen.map(({ s, i }) => [s, s.name, show(s.y[i]) + (s.low && s.low[i] !== null ? ` (${show(s.low[i])} to ${show(s.high[i])})` : "")]);
      this.tip.replaceChildren(heading, ...rows.map(([s, name, value]) => {
        const label = element("em", { textContent: name, style: "font-style:normal" });
        if (s) { const mark = element("i"); mark.style.background = color(s); label.prepend(mark); }
        return element("span", {}, label, element("b", { textContent: value }));
      }));
      this.tip.hidden = false;
      const half = this.x(at) > this.width / 2;
      this.tip.style.left = half ? "auto" : `${this.x(at) + 12}px`;
      this.tip.style.right = half ? `${this.width - this.x(at) + 12}px` : "auto";
      this.tip.style.top = `${Math.max(0, Math.min(py - 20, this.height - this.tip.offsetHeight - 8))}px`;
      if (aloud) this.spoken.textContent = [heading.textContent, ...rows.map(([, n, v]) => `${n} ${v}`)].join("; ");
    }
    mark(chosen, first, isCloud) {
      this.marks.replaceChildren();
      if (!isCloud) {
        const px = this.x(first.s.x[first.i]);
        this.cursor.setAttribute("x1", px); this.cursor.setAttribute("x2", px);
      }
      this.cursor.setAttribute("visibility", isCloud ? "hidden" : "visible");
      for (const { s, i, frame } of chosen) {
        const y = frame.y(s.y[i]);
        if (y !== null) make("circle", { cx: this.x(s.x[i]), cy: y, r: isCloud ? 5 : 3.2, fill: color(s), stroke: "var(--card)", "stroke-width": 1.5 }, this.marks);
      }
    }
    leave() {
      this.tip.hidden = true;
      this.position = null;
      this.cursor.setAttribute("visibility", "hidden");
      this.marks.replaceChildren();
    }

    fillTable(details) {
      const body = [];
      for (const panel of this.view.panels) for (const s of panel.series) {
        const stride = Math.max(1, Math.ceil(s.x.length / 25));
        s.x.forEach((v, i) => { if (i % stride === 0 || i === s.x.length - 1) body.push([s.name, show(v), show(s.y[i])]); });
      }
      const row = (cells, kind) => element("tr", {}, ...cells.map((c, i) => element(kind, { textContent: c, className: i ? "number" : "" })));
      const table = element("table", {}, element("thead", {}, row(["series", this.view.x, "value"], "th")), element("tbody", {}, ...body.map((cells) => row(cells, "td"))));
      const holder = element("div", { className: "scroll", tabIndex: 0 }, table);
      holder.setAttribute("role", "region");
      holder.setAttribute("aria-label", "numbers of this figure");
      details.querySelector(".scroll")?.remove();
      details.append(holder);
    }
  }

  function start() {
    const source = document.getElementById("litmus-data");
    const data = source ? JSON.parse(source.textContent) : {};
    const charts = [];
    for (const node of document.querySelectorAll("[data-chart]")) {
      const chart = new Chart(node, data[node.dataset.chart]);
      charts.push(chart);
      const details = node.parentElement.querySelector("details.numbers");
      if (details) details.addEventListener("toggle", () => details.open && chart.fillTable(details));
    }
    if (observer) observer.disconnect();
    observer = new ResizeObserver(() => charts.forEach((c) => {
      if (Math.abs(c.node.clientWidth - c.width) > 2 && c.node.clientWidth > 240) c.draw();
    }));
    charts.forEach((c) => observer.observe(c.node));
    animations();
  }

  /* Animations: started and stopped together; still from the start for who prefers that. */
  let playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  function animations() {
    const images = [...document.querySelectorAll("img[data-animation]")];
    const buttons = [...document.querySelectorAll("[data-play]")];
    const apply = () => {
      for (const image of images) {
        if (!image.dataset.still) image.dataset.still = image.src;
        image.src = playing ? image.dataset.animation : image.dataset.still;
      }
      for (const button of buttons) {
        button.textContent = playing ? "Pause animations" : "Play animations";
        button.setAttribute("aria-pressed", playing);
      }
    };
    for (const button of buttons) button.onclick = () => { playing = !playing; apply(); };
    apply();
  }
  return { start };
})();
litmus.start();
