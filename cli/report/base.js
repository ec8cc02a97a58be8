// Shared by all plots: the data, values as people read them, elements, the tip, CSV, tables. Text from the data goes
// into the page as text, never as HTML. Nothing is asked from outside.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const colour = (kind) => `var(--${kind})`;

// By the format of a column (trace/report/data_table.h). null: it is not known.
const many = (count) => `${count}`.replace(/\B(?=(\d{3})+$)/g, " ");
const formats = {
  w: (value) => value, n: (value) => Number.isInteger(value) ? many(value) : `${value}`,
  ms: (time) => (time / 1e6).toFixed(3), "%": (share) => (share / 100).toFixed(2),
  "+%": (share) => (share < 0 ? "" : "+") + (share / 100).toFixed(2), i: (at, [, , labels]) => labels[at],
};
const shown = (value, column) => value === null ? "-" : formats[column[1]](value, column);
const length = (time) => time === 0 ? "0" : time >= 1e9 ? (time / 1e9).toPrecision(4) + " s"
  : time >= 1e6 ? (time / 1e6).toPrecision(4) + " ms" : (time / 1e3).toPrecision(3) + " µs";

function add(parent, name, attributes = {}, text = null) {
  const made = parent instanceof SVGElement || name === "svg"
    ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return parent.appendChild(made);
}
const svg = (parent, width, height, label) =>
  add(parent, "svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
// A text of a picture, made narrower where it is wider than that: it would run into what stands beside it.
function fitted(text, most) {
  if (text.getComputedTextLength() > most)
    for (const [key, value] of [["textLength", most], ["lengthAdjust", "spacingAndGlyphs"]])
      text.setAttribute(key, value);
  return text;
}
// 1, 2 or 5 times a power of ten, not below `rough`.
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((times) => times * power).find((each) => each >= rough);
}
const missing = (parent, why) => add(parent, "p", { class: "missing" }, `Not shown: ${why}.`);

// A plot's own part of the page: its title, a button for its data, its caption, or why it is not there. null: that.
function plot(parent, { title, caption, missing: why, table, notes = [] }, level = "h3") {
  const place = add(parent, "div"), head = add(place, "div", { class: "head" });
  add(head, level, {}, title);
  if (table) csvButton(head, table);
  if (caption) add(place, "p", { class: "caption" }, caption);
  for (const note of notes) add(place, "p", { class: "missing" }, note);
  if (why) missing(place, why);
  return why ? null : place;
}

function csvButton(head, table) {
  const cell = (text) => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  // Spreadsheets take a text that begins so for a formula.
  const safe = (text) => /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  const plain = (value, column) => value === null ? "" : column[1] === "n" ? `${value}`
    : column[1] === "ms" ? (value / 1e6).toFixed(6)
    : "wi".includes(column[1]) ? safe(shown(value, column)) : shown(value, column);
  add(head, "button", { type: "button", title: `weft-${table.name}.csv` }, "CSV").onclick = () => {
    const lines = [table.columns.map(([name]) => cell(name)),
      ...table.rows.map((row) => row.map((value, at) => cell(plain(value, table.columns[at]))))];
    const link = document.createElement("a");
    const text = lines.map((line) => line.join(",") + "\n").join("");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = `weft-${table.name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
}

const tip = document.getElementById("tip");
const hideTip = () => { tip.hidden = true; };
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18}px`;
}
addEventListener("scroll", hideTip, { passive: true });
// A row of a table, a line for each value.
const textOf = (table, row) => table.columns.map((column, at) => row[at] === null ? null
  : `${column[0]}: ${shown(row[at], column)}`).filter(Boolean).join("\n");
function tipped(element, text) {
  element.onpointermove = (event) => showTip(text, event.clientX, event.clientY);
  element.onpointerleave = hideTip;
}
const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

function legend(parent, entries) {
  const list = add(parent, "div", { class: "legend" });
  for (const [kind, text] of entries) {
    const entry = add(list, "span");
    add(entry, "i", { style: `background:${colour(kind)}` });
    entry.append(text);
  }
}

// Numbers within words count as numbers: rank 2 comes before rank 10.
const collator = new Intl.Collator("en", { numeric: true });
const compared = (one, other) => typeof one === "string" ? collator.compare(one, other) : one - other;

// The head of a column sorts; null comes last. Of many rows the first ones, until somebody wants more.
function table(parent, { name, columns, rows }, first = 25) {
  const made = add(add(parent, "div", { class: "scroll" }), "table", { id: `table-${name}` });
  const heads = add(add(made, "thead"), "tr"), body = add(made, "tbody");
  const words = ([, format]) => "wi".includes(format) ? { class: "words" } : {};
  let order = rows, most = first;
  const fill = () => {
    body.replaceChildren();
    for (const row of order.slice(0, most)) {
      const line = add(body, "tr");
      columns.forEach((column, at) => add(line, "td", words(column), shown(row[at], column)));
    }
  };
  columns.forEach((column, at) => {
    const head = add(heads, "th", words(column));
    add(head, "button", { type: "button" }, column[0]).onclick = () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of heads.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      order = [...rows].sort(({ [at]: one }, { [at]: other }) => one === null || other === null
        ? (one === null) - (other === null) : compared(one, other) * (down ? -1 : 1));
      fill();
    };
  });
  fill();
  if (rows.length <= first) return;
  const all = many(rows.length), next = many(Math.min(rows.length, 1000));
  const more = add(parent, "button", { type: "button" }, `Show ${next} of ${all}`);
  more.onclick = () => { most = 1000; fill(); more.remove(); };
}

// Buttons of which one is pressed.
function choices(parent, label, names, choose) {
  const list = add(parent, "div", { class: "choices", role: "group", "aria-label": label });
  list.append(label);
  const buttons = names.map((name, at) => {
    const button = add(list, "button", { type: "button", "aria-pressed": at === 0 }, name);
    button.onclick = () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", other === button));
      choose(at);
    };
    return button;
  });
}

// Drawn again where the width of the page changes. draw(place, its width)
function drawn(parent, draw) {
  const place = add(parent, "div");
  let width = 0;
  const again = () => {
    if (parent.clientWidth === width) return;
    width = parent.clientWidth;
    place.replaceChildren();
    draw(place, Math.max(260, width));
  };
  addEventListener("resize", again);
  again();
}
