// The idle share of all ranks by cause: numbers where there are few, else one cell for each rank on a canvas.
function ranks(place, { causes, table: all }) {
  const number = (head) => all.columns.findIndex(([name]) => name === head);
  const first = all.columns.length - causes.length;  // column
  const shares = [["all causes", number("idle %"), "accent"], ...causes.map((cause, at) => [cause, first + at, cause]),
    ["uncertain", number("uncertain %"), "uncertain"]];
  (all.rows.length <= 32 ? fewRanks : manyRanks)(place, all, shares);
  table(place, all, 16);
}
const rankLabel = (row) => (row[3] === null ? "" : `stage ${row[3]} · `) + `rank ${row[0]}`;

function fewRanks(place, all, shares) {
  drawn(add(place, "div", { class: "scroll" }), (area, width) => {
    const left = 150, top = 20, high = 24, wide = Math.max(84, Math.min(130, (width - left) / shares.length));
    const picture = svg(area, left + wide * shares.length, top + all.rows.length * (high + 2), all.name);
    const most = Math.max(1, ...all.rows.flatMap((row) => shares.map(([, at]) => row[at] ?? 0)));
    shares.forEach(([name], column) =>
      add(picture, "text", { class: "faint", x: left + column * wide + 4, y: 13 }, name));
    all.rows.forEach((row, number) => {
      const y = top + number * (high + 2);
      add(picture, "text", { x: 0, y: y + 16 }, rankLabel(row));
      shares.forEach(([, at, kind], column) => {
        const box = { x: left + column * wide, y, height: high };
        add(picture, "rect", { ...box, width: wide - 2, fill: "var(--zero)" });
        const mark = add(picture, "rect", { ...box, class: "cell", width: (wide - 2) * (row[at] ?? 0) / most,
          fill: colour(kind), "fill-opacity": 0.5 });
        add(picture, "text", { x: box.x + 6, y: y + 16, "pointer-events": "none" },
          row[at] === null ? "unknown" : `${formats["%"](row[at])} %`);
        tipped(mark, textOf(all, row));
      });
    });
  });
}

function manyRanks(place, all, shares) {
  let cause = 0, order = 0, cursor = null, rows = [], size = 8, high = 8;
  const left = 90;
  const orders = [["stage", (row) => row[3], (row) => `stage ${row[3]}`], ["host", (row) => row[1], (row) => row[1]],
    ["128 ranks", (_, at) => Math.floor(at / 128), (row) => `rank ${row[0]}`]];
  if (all.rows.some((row) => row[3] === null)) orders.shift();
  choices(place, "Cause:", shares.map(([name]) => name), (at) => { cause = at; draw(); });
  choices(place, "One line for each:", orders.map(([name]) => name), (at) => { order = at; arrange(); });
  const canvas = add(place, "canvas", { tabindex: 0, role: "img", "aria-label": "Idle share of all ranks" });
  const scale = add(place, "p", { class: "caption" });

  function arrange() {
    const [, group, name] = orders[order], found = new Map();
    all.rows.forEach((row, at) => {
      const key = group(row, at);
      if (!found.has(key)) found.set(key, { name: name(row), cells: [] });
      found.get(key).cells.push(row);
    });
    canvas.width = Math.max(320, place.clientWidth);
    const groups = [...found].sort(([one], [other]) => compared(one, other)).map(([, line]) => line);
    rows = linesOf(groups, Math.floor((canvas.width - left) / 4));
    size = Math.min(18, (canvas.width - left) / Math.max(...rows.map(({ cells }) => cells.length)));
    high = Math.max(2, Math.min(18, 600 / rows.length));
    canvas.height = Math.ceil(rows.length * high) + 2;
    draw();
  }
  // Of many groups several stand on one line, and a group of more than `most` cells has several lines.
  function linesOf(groups, most) {
    const together = Math.ceil(groups.length / 64), lines = [];
    for (let at = 0; at < groups.length; at += together) {
      const cells = groups.slice(at, at + together).flatMap((group) => group.cells);
      for (let from = 0; from < cells.length; from += most)
        lines.push({ name: from === 0 ? groups[at].name : "", cells: cells.slice(from, from + most) });
    }
    return lines;
  }
  function draw() {
    const [, column, kind] = shares[cause], context = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const ink = (name) => style.getPropertyValue(`--${name}`).trim();
    const most = all.rows.reduce((sum, row) => Math.max(sum, row[column] ?? 0), 1);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.font = "12px system-ui, sans-serif";
    rows.forEach(({ name, cells }, y) => {
      context.fillStyle = ink("faint");
      if (y % Math.ceil(13 / high) === 0)
        context.fillText(name.slice(0, 14), 0, y * high + Math.max(10, high / 2 + 4));
      cells.forEach((row, x) => {
        const box = [left + x * size, y * high, size > 3 ? size - 1 : size, high > 3 ? high - 1 : high];
        if (row[column] === null) return;
        context.fillStyle = ink("zero");
        context.fillRect(...box);
        context.globalAlpha = row[column] / most;
        context.fillStyle = ink(kind);
        context.fillRect(...box);
        context.globalAlpha = 1;
        context.strokeStyle = ink("text");
        if (row === cursor) context.strokeRect(...box);
      });
    });
    scale.textContent = `From 0 % (pale) to ${formats["%"](most)} % of the time (full colour); a gap is a rank of ` +
      "which it is not known. Arrow keys go from rank to rank.";
  }
  function show(y, x, clientX, clientY) {
    const row = rows[y]?.cells[x];
    if (!row) return hideTip();
    if (row !== cursor) {
      cursor = row;
      draw();
    }
    const box = canvas.getBoundingClientRect();
    showTip(textOf(all, row), clientX ?? box.left + left + x * size, clientY ?? box.top + (y + 1) * high);
  }
  canvas.onpointermove = (event) => show(Math.floor(event.offsetY / high), Math.floor((event.offsetX - left) / size),
    event.clientX, event.clientY);
  canvas.onpointerleave = canvas.onblur = hideTip;
  canvas.onkeydown = (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const y = Math.max(0, rows.findIndex(({ cells }) => cells.includes(cursor)));
    show(y + step[0], Math.max(0, rows[y].cells.indexOf(cursor)) + step[1]);
  };
  arrange();
  addEventListener("resize", arrange);
  addEventListener("themechange", draw);
}
