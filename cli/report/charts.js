// Bars, a matrix, and lines over the run.
// Lines of a table: [name, its length, more]; `whole` is the full width, and `marked` the name of one that stands out.
function bars(place, { table: all, whole, marked }) {
  drawn(place, (area, width) => {
    const left = 130, high = 20, x = (time) => time / whole * (width - left - 90);
    const picture = svg(area, width, all.rows.length * (high + 4), all.name);
    all.rows.forEach((row, at) => {
      const y = at * (high + 4), box = { x: left, y, height: high };
      fitted(add(picture, "text", { x: 0, y: y + 15 }, row[0]), left - 6);
      add(picture, "rect", { ...box, width: x(whole), fill: "var(--zero)" });
      tipped(add(picture, "rect", { ...box, class: "bar", width: x(row[1]),
        fill: colour(row[0] === marked ? "bad" : "unknown") }), textOf(all, row));
      add(picture, "text", { class: "faint", x: left + x(whole) + 6, y: y + 15 }, length(row[1]));
    });
  });
}

// Bars beside each other, one for each line of a table: [name, count].
function columns(place, { table: all }) {
  drawn(place, (area, width) => {
    const height = 190, bottom = 20, wide = width / all.rows.length, labelled = wide < 10 ? 8 : 4;
    const most = Math.max(...all.rows.map((row) => row[1]));
    const picture = svg(area, width, height, all.name);
    all.rows.forEach((row, at) => {
      const high = (height - bottom - 4) * row[1] / most;
      tipped(add(picture, "rect", { class: "bin", x: at * wide, y: height - bottom - high, width: wide - 1,
        height: high, fill: colour("accent") }), textOf(all, row));
      if (at % labelled === 1 && (at + labelled / 2) * wide < width)
        add(picture, "text", { class: "faint", x: at * wide, y: height - 5 }, row[0].split(" ")[0]);
    });
    add(picture, "line", { class: "grid", x1: width / 2, x2: width / 2, y1: 0, y2: height - bottom });
  });
}

// Cells of a table: [line, column, time, count].
function matrix(place, { table: all, title }) {
  const labels = all.columns[0][2], most = Math.max(...all.rows.map((row) => row[2]));
  drawn(place, (area, width) => {
    const left = 130, right = 16, cell = Math.max(4, Math.min(44, (width - left - right) / labels.length));
    const size = labels.length * cell, picture = svg(area, left + size + right, 18 + size, title);
    add(picture, "rect", { x: left, y: 18, width: size, height: size, fill: colour("zero") });
    for (let at = 0; at < labels.length; at += Math.ceil(15 / cell)) {
      fitted(add(picture, "text", { x: 0, y: 18 + (at + 0.5) * cell + 4 }, labels[at]), left - 6);
      add(picture, "text", { class: "faint", x: left + (at + 0.5) * cell, y: 12, "text-anchor": "middle" },
        labels[at].split(" ").at(-1));
    }
    for (const row of all.rows)
      tipped(add(picture, "rect", { class: "pair", x: left + row[1] * cell, y: 18 + row[0] * cell, width: cell - 1,
        height: cell - 1, fill: colour("receive"), "fill-opacity": 0.1 + 0.9 * row[2] / most }), textOf(all, row));
  });
}

// Over the time in one column of a table. wanted: [column, colour, columns of the interval]; level: [share, text].
function lines(place, all, timeColumn, wanted, level) {
  const number = (head) => all.columns.findIndex(([name]) => name === head), time = number(timeColumn);
  legend(place, wanted.map(([head, kind]) => [kind, head]));
  const drawnLines = wanted.map(([head, kind, band]) => [number(head), kind, band?.map(number)]);
  drawn(place, (area, width) => {
    const height = 190, left = 60, top = 10, bottom = 24, picture = svg(area, width, height, all.name);
    const used = drawnLines.flatMap(([at, , band]) => [at, ...band ?? []]);
    const shares = all.rows.flatMap((row) => used.map((at) => row[at])).concat(level ? [level[0]] : [])
      .filter((share) => share !== null);
    const times = all.rows.map((row) => row[time]), begin = Math.min(...times), end = Math.max(begin + 1, ...times);
    const step = roundStep((Math.max(100, ...shares) - Math.min(0, ...shares)) / 4);
    const low = Math.floor(Math.min(0, ...shares) / step) * step;
    const high = Math.ceil(Math.max(100, ...shares) / step) * step;
    const x = (row) => left + (row[time] - begin) / (end - begin) * (width - left - 10);
    const y = (share) => top + (high - share) / (high - low) * (height - top - bottom);
    const rule = (share, more) =>
      add(picture, "line", { x1: left, x2: width - 10, y1: y(share), y2: y(share), ...more });
    const write = (at, down, text, more = { class: "faint", "text-anchor": "end" }) =>
      add(picture, "text", { x: at, y: down, ...more }, text);
    for (let share = low; share <= high + step / 2; share += step) {
      rule(share, { class: "grid" });
      write(left - 6, y(share) + 4, `${+(share / 100).toPrecision(4)} %`);
    }
    write(left, height - 4, length(begin), { class: "faint" });
    write(width - 10, height - 4, `${length(end)} since the begin`);
    if (level) {
      rule(level[0], { stroke: "var(--text)", "stroke-dasharray": "6 4" });
      write(width - 14, y(level[0]) - 5, level[1]);
    }
    for (const [at, kind, band] of drawnLines) {
      const known = all.rows.filter((row) => row[at] !== null), fill = colour(kind);
      const points = (rows, column) => rows.map((row) => `${x(row)},${y(row[column])}`).join(" ");
      if (band)
        add(picture, "polygon", { fill, "fill-opacity": 0.15,
          points: `${points(known, band[1])} ${points(known.toReversed(), band[0])}` });
      add(picture, "polyline", { points: points(known, at), fill: "none", stroke: fill, "stroke-width": 1.5 });
      for (const row of known) {
        const [cx, cy] = [x(row), y(row[at])];
        if (band) add(picture, "line", { x1: cx, x2: cx, y1: y(row[band[0]]), y2: y(row[band[1]]), stroke: fill });
        tipped(add(picture, "circle", { class: "point", cx, cy, r: 3, fill }), textOf(all, row));
      }
    }
  });
}
