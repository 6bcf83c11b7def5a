// Elements and figures of the page. All texts of the user's table become text nodes, never HTML.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

/** Make an element; texts become text nodes, attributes are set, `on...` are listeners. */
export function el(tag, attributes = {}, ...children) {
  const svg = ["clipPath", "g", "line", "path", "rect", "text", "title"].includes(tag);
  const made = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

/** Write characters that cannot be seen, or that change the order of others, as codes. */
export function visible(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\ufff9-\ufffb]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

const UNBROKEN = 24; // characters of a value that is not broken into lines

export const value = (text) => el("bdi", { class: String(text).length > UNBROKEN ? "value" : "value whole" }, visible(text));
/** A name of a column, cut if it is long. */
export const cutName = (text) => (text.length > 100 ? `${text.slice(0, 99)}…` : text);
export const amount = (number) => Number(number).toLocaleString("en");
export const counted = (n, thing) => `${amount(n)} ${thing}${n === 1 ? "" : "s"}`;
export const megabytes = (bytes) => amount(Math.ceil(bytes / 2 ** 20));
export const short = (number) => String(Number(Number(number).toPrecision(4)));

export function fill(id, ...children) {
  $(id).replaceChildren(...children.filter((child) => child != null));
}

export function list(id, texts) {
  fill(id, ...texts.map((text) => el("li", {}, visible(text))));
}

export const clock = (seconds) => (seconds < 60 ? `${Math.ceil(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`);

// figures

// where a part of the axis of scores is drawn
const place = (share) => 20 + 440 * share;

/** Draw the scores of all rows as bars. */
export function drawScores({ counts, ticks }) {
  const most = Math.max(...counts);
  const width = 440 / counts.length;
  const bars = counts.map((count, i) => {
    // a square root: a few rows beside many thousands stay visible
    const height = count ? Math.max(2, 170 * Math.sqrt(count / most)) : 0;
    return el("rect", { class: "bar", x: 20 + i * width, y: 190 - height, width: Math.max(1, width - 1), height },
      el("title", {}, counted(count, "row")));
  });
  const above = bars.map((bar) => bar.cloneNode(true));
  const marks = ticks.map(([share, score]) => el("text", { x: place(share), y: 208, "text-anchor": "middle" }, short(score)));
  fill("scores", el("clipPath", { id: "above" }, el("rect", { y: 0, height: 190 })), ...bars,
    el("g", { class: "above", "clip-path": "url(#above)" }, ...above), el("line", { class: "axis", x1: 20, x2: 460, y1: 190, y2: 190 }), ...marks,
    el("line", { class: "cut", y1: 8, y2: 190 }));
}

/** Colour what is above a threshold, which lies at a part of the axis. */
export function cutScores(at) {
  const above = document.querySelector("#above rect");
  above.setAttribute("x", place(at));
  above.setAttribute("width", 480 - place(at));
  const line = document.querySelector("#scores .cut");
  line.setAttribute("x1", place(at));
  line.setAttribute("x2", place(at));
}

/** Prepare the map, and say what its directions are. */
export function drawMap({ directions }) {
  fill("map", el("path", { class: "dots" }), el("path", { class: "triangle" }), el("path", { class: "ring" }));
  const named = directions.flatMap(({ columns }, i) => (columns.length
    ? [` ${["Across", "Up"][i]}: mainly `, ...columns.flatMap((own, j) => [j ? ", " : "", value(cutName(own))]), "."] : []));
  fill("map-note", "▲ flagged, ● other rows. Near rows are alike. Click a row to see it whole.", ...named);
}

const onMap = ({ x, y }, i) => [12 + 456 * x[i], 308 - 296 * y[i]];

/** Return the row, counted from 0, that is drawn where a pointer is; null if none is near. */
export function nearestRow(map, event) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform($("map").getScreenCTM().inverse());
  let [nearest, least] = [null, 15 ** 2];
  for (let i = 0; i < map.x.length; i += 1) {
    const [h, v] = onMap(map, i);
    const far = (h - at.x) ** 2 + (v - at.y) ** 2;
    if (far < least) [nearest, least] = [map.rows[i], far];
  }
  return nearest;
}

/** Draw a ring around a row, counted from 0, if it is on the map. */
export function markRow(map, row) {
  const i = map.rows.indexOf(row);
  const [h, v] = i < 0 ? [] : onMap(map, i);
  document.querySelector("#map .ring").setAttribute("d", i < 0 ? "" : `M${h - 9} ${v}a9 9 0 1 0 18 0a9 9 0 1 0 -18 0`);
}

/** Draw flagged rows as triangles, the others as dots. */
export function cutMap(map, isFlagged) {
  const { x, order } = map;
  const flagged = [];
  const others = [];
  for (let i = 0; i < x.length; i += 1) {
    const [h, v] = onMap(map, i);
    if (isFlagged(order[i], map.flagged[i])) flagged.push(`M${h.toFixed(1)} ${(v - 5.5).toFixed(1)}l5 9h-10z`);
    else others.push(`M${h.toFixed(1)} ${v.toFixed(1)}m-2.2 0a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0 -4.4 0`);
  }
  document.querySelector("#map .dots").setAttribute("d", others.join(""));
  document.querySelector("#map .triangle").setAttribute("d", flagged.join(""));
}
