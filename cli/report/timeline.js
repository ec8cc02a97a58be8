// One iteration over all stages: a row for each rank, its bubbles by cause with fill work in them; an arrow to the end
// of a bubble from the moment at which the other rank began to send.
function timeline(place, section) {
  const { rows, length: whole, table: all } = section;
  const names = all.columns[1][2], byOtherWork = all.columns[7][2].indexOf("other work");
  const used = new Set(all.rows.map((part) => names[part[1]]));
  legend(place, Object.entries(data.kinds).filter(([kind]) => kind === "busy" || used.has(kind)));
  drawn(place, (area, width) => {
    const top = 22, gap = 5, high = rows.length > 24 ? 18 : rows.length > 8 ? 26 : 36;
    const left = Math.min(width * 0.4, 12 + 6.5 * Math.max(...rows.map(([name]) => name.length)));
    const height = top + rows.length * (high + gap);
    const picture = svg(area, width, height, section.title);
    const x = (time) => left + time / whole * (width - left - 8), y = (row) => top + row * (high + gap);
    axis(picture, x, whole, height);
    const marks = rows.map(([name, begin, end], at) => {
      fitted(add(picture, "text", { x: 0, y: y(at) + high / 2 + 4 }, name), left - 6);
      add(picture, "rect", { class: "busy", x: x(begin), y: y(at), width: x(end) - x(begin), height: high, rx: 2,
        fill: colour("busy") });
      return [];
    });
    for (const part of all.rows) {
      const inset = names[part[1]] === "fill" ? high / 4 : 0;
      const mark = add(picture, "rect", { class: "part", x: x(part[2]), y: y(part[0]) + inset, height: high - 2 * inset,
        width: Math.max(0.6, x(part[3]) - x(part[2])), fill: colour(names[part[1]]) });
      mark.onpointermove = (event) => choose(mark, part, event.clientX, event.clientY);
      mark.onpointerleave = leave;
      marks[part[0]].push([mark, part]);
    }
    const line = add(picture, "path", { fill: "none", stroke: "var(--text)", "stroke-width": 1.5 });
    const end = add(picture, "circle", { r: 3.5, fill: "var(--text)" });
    let at = [0, -1], chosen = null;

    function awaited([, , begin, , , from, sent, ended]) {
      if (from === null) return ended === byOtherWork ? "ended by other work" : "";
      if (ended === byOtherWork) return `ended by other work while it waited for ${rows[from][0]}`;
      if (sent === null) return `for ${rows[from][0]}` + (ended === null ? "" : "; when that began to send is not known");
      const when = sent < begin ? `${length(begin - sent)} before` : `${length(sent - begin)} into`;
      return `for ${rows[from][0]}, which began to send ${when} it`;
    }
    function choose(mark, part, clientX, clientY) {
      leave();
      chosen = mark;
      at = [part[0], marks[part[0]].findIndex(([each]) => each === mark)];
      mark.classList.add("chosen");
      const box = mark.getBoundingClientRect(), [row, kind, begin, until, name, from, sent] = part;
      showTip([name === null ? "" : all.columns[4][2][name], `${data.kinds[names[kind]]}, ${length(until - begin)}`,
        awaited(part)].filter(Boolean).join("\n"), clientX ?? box.left, clientY ?? box.bottom);
      if (from === null) return;
      const [x1, y1, x2, y2] = [x(Math.max(sent ?? begin, 0)), y(from) + high / 2, x(until), y(row) + high / 2];
      line.setAttribute("d", `M${x1},${y1} C${(x1 + x2) / 2},${y1} ${(x1 + x2) / 2},${y2} ${x2},${y2}`);
      line.setAttribute("stroke-dasharray", sent === null ? "4 3" : "none");
      end.setAttribute("cx", x2);
      end.setAttribute("cy", y2);
      line.style.display = end.style.display = "";
    }
    function leave() {
      hideTip();
      chosen?.classList.remove("chosen");
      line.style.display = end.style.display = "none";
    }
    leave();
    picture.setAttribute("tabindex", 0);
    picture.onblur = leave;
    picture.onkeydown = (event) => {
      const step = steps[event.key];
      if (event.key === "Escape") leave();
      if (!step) return;
      event.preventDefault();
      const row = Math.max(0, Math.min(at[0] + step[0], marks.length - 1));
      const number = Math.max(0, Math.min(at[1] + step[1], marks[row].length - 1));
      if (marks[row][number]) choose(...marks[row][number]);
    };
  });
}

// Ticks of time along the top.
function axis(picture, x, whole, height) {
  const step = roundStep(whole / Math.min(8, Math.max(2, Math.floor((x(whole) - x(0)) / 70))));
  const [unit, name] = whole >= 1e10 ? [1e9, "s"] : whole >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
  for (let at = 0; at * step <= whole; ++at) {
    const left = x(at * step);
    add(picture, "line", { class: "grid", x1: left, x2: left, y1: 16, y2: height });
    if (left + 40 < x(whole))
      add(picture, "text", { class: "faint", x: left + 3, y: 12 }, `${+(at * step / unit).toPrecision(6)} ${name}`);
  }
}
