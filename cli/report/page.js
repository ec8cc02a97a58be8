// The page from above: sentences, then the sections in their order.
const since = "since the begin, ms";
const byId = (id) => document.getElementById(id);
const draw = {
  headline(place, { table: numbers, causes }) {
    const grid = add(place, "div", { class: "tiles" });
    for (const [name, value, of] of numbers.rows) {
      const tile = add(grid, "div", { class: "tile", id: `number-${name}` });
      add(tile, "span", {}, name);
      add(tile, "b", {}, value);
      add(tile, "span", {}, of);
    }
    if (!causes) return;
    const below = plot(place, causes), rows = causes.table.rows;
    drawn(below, (area, width) => {
      const picture = svg(area, width, 26, causes.title);
      let from = 0;
      for (const row of rows) {
        const wide = width * row[1] / 10000;
        tipped(add(picture, "rect", { class: "cause", x: from, y: 0, width: Math.max(0, wide - 1), height: 26,
          fill: colour(row[0]) }), textOf(causes.table, row));
        from += wide;
      }
    });
    legend(below, rows.map(([cause, share]) => [cause, `${cause} ${formats["%"](share)} %: ${data.kinds[cause]}`]));
  },
  timeline,
  ranks,
  waits(place, { frontier, matrix: who, pairs }) {
    const beside = add(place, "div", { class: "beside" });
    const left = plot(beside, frontier), right = plot(beside, who);
    if (left) bars(left, frontier);
    if (right) matrix(right, who);
    if (pairs) table(plot(place, pairs), pairs.table, 8);
  },
  slots(place, { table: all, after }) {
    table(place, all, 15);
    if (after) add(place, "p", { class: "caption" }, after);
  },
  forecasts(place, { ratios, few }) {
    const beside = add(place, "div", { class: "beside" });
    columns(plot(beside, ratios), ratios);
    const all = data.sections.find(({ id }) => id === "filling").table;
    const right = plot(beside, { title: "Within the forecast, over the run", missing: few, table: all });
    if (!right) return;
    lines(right, all, since, [["within forecast %", "accent"]], [8000, "80 %"]);
    lines(plot(beside, { title: "Forecast error, over the run" }), all, since, [["forecast err. %", "collective"]]);
  },
  filling(place, { table: all, is_filled: isFilled, slowdown }) {
    const beside = add(place, "div", { class: "beside" });
    lines(plot(beside, { title: "Idle and filled, of the time of an iteration" }), all, since,
      [["idle %", "receive"], ...(isFilled ? [["filled %", "fill"]] : [])]);
    const right = plot(beside, { title: "Slowdown by filling", ...slowdown });
    if (right) lines(right, slowdown.table, since, [["slowdown %", "bad", ["low %", "high %"]]], [slowdown.budget, "budget"]);
  },
  whatif(place, { plots }) {
    const beside = add(place, "div", { class: "beside" });
    for (const each of plots) {
      const own = plot(beside, each);
      if (own) table(own, each.table);
    }
  },
  notes(place, { list }) {
    const notes = add(place, "ul"), most = 40;
    for (const note of list.slice(0, most)) add(notes, "li", {}, note);
    if (list.length <= most) return;
    const more = add(place, "button", { type: "button" }, `Show all ${many(list.length)}`);
    more.onclick = () => {
      for (const note of list.slice(most)) add(notes, "li", {}, note);
      more.remove();
    };
  },
};

byId("about").textContent = data.about;
for (const sentence of data.sentences) add(byId("sentences"), "p", {}, sentence);
for (const section of data.sections) {
  const whole = add(document.querySelector("main"), "section", { id: section.id });
  const place = plot(whole, section, "h2");
  if (place) draw[section.id](place, section);
}
// By the system's setting until somebody chooses.
byId("theme").onclick = () => {
  const chosen = document.documentElement.dataset;
  const now = chosen.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  chosen.theme = now === "dark" ? "light" : "dark";
  dispatchEvent(new Event("themechange"));
};
matchMedia("(prefers-color-scheme: dark)").onchange = () => dispatchEvent(new Event("themechange"));
