// The page of `metaod serve`: what is clicked, what the server answers, and what is shown.

import {
  $, amount, clock, counted, cutMap, cutName, cutScores, drawMap, drawScores, el, fill, list, markRow, megabytes, nearestRow, short, value,
  visible,
} from "./elements.js";
import { cellRows, closeRow, correct, judge, listFindings, moveFocus, openRow, suspect, takeFindingBack } from "./findings.js";
import { Refused, ask, forget, own, send, show, state, task } from "./state.js";

const KINDS = {
  numeric: "numbers", boolean: "yes or no", category: "categories", text: "text", date: "dates",
  duration: "durations", identifier: "names of rows", constant: "one value", empty: "empty",
  ignored: "left out", label: "known outliers",
};
const FEW_COLUMNS = 100;
const FEW_ROWS = 20;

// a table

async function open(table) {
  await leave();
  state.table = table;
  history.replaceState(null, "", `#${table.id}`);
  await inspect({}, {});
}

/** Delete the table that was open before. */
async function leave() {
  const old = state.table;
  newest = null;
  await flagged.catch(() => {});
  flagged = Promise.resolve();
  Object.assign(state, { table: null, inspection: null, result: null, review: null });
  if (old) await send("DELETE", `/api/tables/${old.id}`).catch(() => {});
}

const upload = task(async (file) => {
  if (!file) return;
  if (file.size > state.most) {
    const detail = `${file.name} holds ${megabytes(file.size)} MB, more than the ${megabytes(state.most)} MB that are allowed.`;
    throw new Refused({ detail, remedy: "Remove rows or columns, or start the server with a larger --max-mb." });
  }
  working(`Sending ${file.name}`);
  $("cancel").hidden = true;
  try {
    const path = `/api/tables?name=${encodeURIComponent(file.name.slice(0, 1000))}`;
    const answer = await send("POST", path, file, { "Content-Type": "application/octet-stream" });
    await open(await answer.json());
  } catch (error) {
    if (!state.table) show("start");
    throw error;
  }
});

const openExample = task(async () => {
  const table = await ask("POST", "/api/example");
  await leave();
  state.table = table;
  history.replaceState(null, "", `#${table.id}`);
  await inspect({ label: "fault" }, {});
});

async function inspect(reading, roles) {
  await work("Reading the table", "inspection", { reading, roles });
  await showColumns();
}

/** Start a job and wait for its end. */
async function work(title, kind, body) {
  state.table = await ask("POST", own(`/${kind}`), body);
  await follow(title);
}

async function follow(title) {
  working(title);
  while (state.table.job.state === "running") {
    tell(state.table.job);
    await new Promise((resolve) => setTimeout(resolve, 400));
    state.table = await ask("GET", own());
  }
  const job = state.table.job;
  if (job.state === "done") return;
  if (state.inspection) show("columns");
  else if (job.kind === "inspection" && job.state === "failed") readAgain();
  else show("start");
  if (job.state === "cancelled") throw new Refused({ detail: "Cancelled.", remedy: "Start again when you like." });
  throw new Refused(job.problem);
}

function working(title) {
  $("working-title").textContent = title;
  $("stage").textContent = "";
  $("clock").textContent = "";
  $("bar").removeAttribute("value");
  $("cancel").hidden = false;
  show("working");
}

function tell(job) {
  if ($("stage").textContent !== job.stage) $("stage").textContent = job.stage;
  if (job.done == null) $("bar").removeAttribute("value");
  else $("bar").value = job.done;
  const left = job.seconds_left == null ? "" : `, about ${clock(job.seconds_left)} left`;
  const slow = job.seconds > 5 && !left ? " The first run after installation compiles for about ten seconds." : "";
  $("clock").textContent = `${clock(job.seconds)} so far${left}.${slow}`;
}

// columns

/** Offer the options of reading for a file that could not be read. */
function readAgain() {
  $("columns-title").textContent = state.table.name;
  $("columns-size").textContent = "This file was not read. If it is a table, the options below may help; else choose another file.";
  list("columns-warnings", []);
  $("columns-table").hidden = true;
  $("detect").disabled = true;
  $("reading").open = true;
  show("columns");
}

async function showColumns() {
  const found = (state.inspection = await ask("GET", own("/inspection")));
  state.uses = new Map(Object.entries(found.roles).flatMap(([role, names]) => names.map((name) => [name, role])));
  if (found.reading.label != null) state.uses.set(found.reading.label, "label");
  state.result = state.review = null;
  $("columns-title").textContent = visible(found.name);
  const label = found.n_labelled == null ? "" : `, ${counted(found.n_labelled, "known outlier")} (not used, only to measure)`;
  $("columns-size").textContent = `${counted(found.n_rows, "row")} × ${counted(found.n_columns, "column")}${label}`;
  list("columns-warnings", found.warnings);
  $("columns-table").hidden = false;
  $("detect").disabled = false;
  $("reading").open = false;
  listColumns(found.columns.slice(0, FEW_COLUMNS));
  $("more-columns").hidden = found.columns.length <= FEW_COLUMNS;
  show("columns");
}

function listColumns(columns) {
  const rows = columns.map((column) => {
    const now = state.uses.get(column.name) || "";
    const use = el("select", {
      "aria-label": `Use of ${visible(cutName(column.name))}`, "data-column": column.name,
      onchange: () => state.uses.set(column.name, use.value),
    }, ...state.roles.map(([role, text]) => el("option", { value: role, selected: role === now }, text)));
    return el("tr", { class: column.is_used || column.role === "label" ? null : "unused" },
      el("td", {}, el("strong", {}, value(cutName(column.name)))),
      el("td", { "data-label": "read as" }, KINDS[column.kind] || column.kind,
        column.is_used ? null : el("span", { class: "quiet done" }, visible(column.preparation))),
      el("td", { class: column.n_missing ? "number" : "number none", "data-label": "missing" }, column.n_missing ? amount(column.n_missing) : "–"),
      el("td", { "data-label": "values" }, ...column.examples.flatMap((text, i) => (i ? [" · ", value(text)] : [value(text)]))),
      el("td", {}, use));
  });
  $("columns-table").tBodies[0].replaceChildren(...rows);
}

/** Collect the roles that the user has chosen, and the label. */
function chosen() {
  const roles = {};
  const reading = { ...state.inspection.reading };
  const labels = [];
  for (const [column, role] of state.uses) {
    if (role === "label") labels.push(column);
    else if (role) (roles[role] ||= []).push(column);
  }
  if (labels.length > 1) throw new Refused({ detail: "Only one column can hold the known outliers.", remedy: "Choose one." });
  delete reading.label;
  if (labels.length) reading.label = labels[0];
  return { reading, roles };
}

const detect = task(async () => {
  await work("Checking the table", "detection", chosen());
  await showResult();
});

const reread = task(async (event) => {
  event.preventDefault();
  const given = new FormData($("reading-form"));
  const reading = {};
  for (const { name, kind } of state.form) {
    const text = given.get(name);
    if (text === "") continue;
    if (kind === "array") reading[name] = [text];
    else if (kind === "integer") reading[name] = Number(text);
    else reading[name] = kind === "boolean" ? text === "true" : text;
  }
  let roles = {};
  if (state.inspection) {
    const kept = chosen();
    roles = kept.roles;
    if (kept.reading.label) reading.label = kept.reading.label;
  }
  await inspect(reading, roles);
});

// result

async function showResult() {
  $("main").setAttribute("aria-busy", "true");
  try {
    await flagged;
    state.result = await ask("GET", own("/result"));
  } finally {
    $("main").removeAttribute("aria-busy");
  }
  const { pick, scores, warnings, notes } = state.result;
  state.chosen = scores.chosen;
  listFindings();
  $("pick").textContent = pick.sentence;
  $("expected").textContent = pick.expected.join(" ");
  list("result-warnings", warnings);
  list("notes", [...pick.why, ...notes]);
  $("measured").textContent = (pick.measured.length ? "On the known outliers: " : "") + pick.measured.map((row) =>
    `${row.method}: average precision ${row.ap.toFixed(2)}, ROC AUC ${row.roc_auc.toFixed(2)}`).join("; ");
  $("as-csv").hidden = state.table.name.toLowerCase().endsWith(".csv");
  $("threshold").max = scores.cuts.length - 1;
  $("number").max = $("wanted").max = state.result.n_rows;
  $("to-gap").hidden = scores.gap == null;
  $("to-gap").textContent = `Clear gap: ${amount(scores.gap || 0)}`;
  drawScores(scores);
  drawMap(state.result.map);
  listRows(FEW_ROWS);
  move();
  show("result");
}

const cut = () => state.result.scores.cuts[state.chosen];

/** Show which rows are flagged: the most outlying ones, or as estimated, which adds rows of wrong cells. */
function move() {
  const [n, threshold] = cut();
  const { n_rows, n_flagged, scores, is_estimated, wrong } = state.result;
  const isFlagged = (place, asEstimated) => (is_estimated ? Boolean(asEstimated) : place < n);
  const share = ((100 * n) / n_rows).toFixed(n && n / n_rows < 0.001 ? 3 : 1);
  const found = wrong?.n_cells ? `${counted(wrong.n_cells, "cell")} probably wrong, ` : "";
  $("result-title").textContent = `${found}${counted(n, "row")} of ${amount(n_rows)} unusual`;
  $("flagged").textContent = `${counted(n, "row")} (${share} %) with a score above ${short(threshold)}.`
    + (is_estimated && n_flagged > n ? ` With the rows of wrong cells, ${amount(n_flagged)} are flagged.` : "")
    + (!is_estimated && wrong?.n_cells ? " Wrong cells do not flag rows now." : "");
  $("gap").textContent = scores.gap == null
    ? "There is no clear gap in the scores, so few rows are flagged at first: choose how many."
    : `There is a clear gap below the first ${counted(scores.gap, "row")}.`;
  $("threshold").value = state.chosen;
  if (document.activeElement !== $("number")) $("number").value = n;
  $("threshold").setAttribute("aria-valuetext", `${counted(is_estimated ? n_flagged : n, "row")} flagged`);
  $("reset").disabled = is_estimated;
  document.querySelector("[data-get=marks]").disabled = !state.result.has_answers;
  cutScores(scores.places[state.chosen]);
  cutMap(state.result.map, isFlagged);
  [...$("rows-table").tBodies[0].rows].filter((row) => row.querySelector(".flag")).forEach((row, i) => {
    const is = isFlagged(i, state.result.top.rows[i].is_flagged);
    row.classList.toggle("flagged", is);
    row.querySelector(".flag").textContent = is ? "▲ yes" : "";
  });
}

const MARKS = { outlier: "you: yes", not: "you: no", unsure: "you: unsure" };

function listRows(most) {
  closeRow();
  const { rows, columns, n_naming } = state.result.top;
  const made = rows.slice(0, most).map((row) => {
    const names = row.cells.slice(0, n_naming).flatMap((cell, i) => (i ? [" · ", value(cell)] : [value(cell)]));
    const wrong = row.wrong.map((own) => el("li", {}, el("b", {}, value(own.column)), " ", suspect(own.value), " ", value(own.reason)));
    const others = (row.why || []).filter((why) => !row.wrong.some((own) => own.column === why.column));
    const reasons = wrong.concat(others.map((why) => el("li", {},
      el("b", {}, value(why.column)), " ", value(why.value), el("span", { class: "quiet" }, " (", value(why.usual), ")"))));
    return el("tr", { onclick: (event) => toggleRow(event.currentTarget, row.row) },
      el("td", { class: "number", "data-label": "rank" }, amount(row.rank)),
      el("td", { class: "number", "data-label": "row" }, el("button", { type: "button", class: "link", "aria-expanded": "false" }, amount(row.row))),
      el("td", { "data-label": columns.slice(0, n_naming).join(", ") || null }, ...names),
      el("td", { class: "number", "data-label": "score" }, short(row.score)),
      el("td", {}, el("span", { class: "flag" }), el("span", { class: "quiet" }, row.mark ? ` ${MARKS[row.mark]}` : "")),
      el("td", {}, reasons.length ? el("ul", {}, ...reasons) : row.why ? "no single value" : "–"));
  });
  $("rows-table").tBodies[0].replaceChildren(...made);
  $("rows-name").textContent = columns.slice(0, n_naming).map(visible).join(", ");
  $("more-rows").hidden = rows.length <= most;
}

const toggleRow = task(async (line, row) => {
  if (window.getSelection().toString()) return;
  const isOpen = line.querySelector("[aria-expanded=true]");
  closeRow();
  if (isOpen) return;
  const cell = el("td", { colspan: 6 });
  line.after(el("tr", { class: "opened" }, cell));
  await openRow(cell, row, null, null);
  line.querySelector("[aria-expanded]").setAttribute("aria-expanded", "true");
});

/** Show a row whole below the map, and where it is on the map. */
const lookUp = task(async (row) => {
  await openRow($("looked-up"), row, null, null);
  markRow(state.result.map, row - 1);
  $("row-panel").scrollIntoView({ block: "nearest" });
  $("row-title").focus({ preventScroll: true });
});

/** Flag so many rows, or the nearest number that a threshold can flag. */
function choose(wish) {
  const { cuts } = state.result.scores;
  const far = (place) => Math.abs(cuts[place][0] - wish);
  slide(cuts.reduce((best, _, place) => (far(place) < far(best) ? place : best), 0));
  flag(cut()[0]);
}

/** Show what a threshold flags. */
function slide(place) {
  state.chosen = place;
  state.result.is_estimated = false;
  move();
}

let flagged = Promise.resolve(); // ends when the server knows the threshold that is shown
let newest = null;

/** Send a threshold after those that were sent before, unless there is a newer one by then. */
const flag = task(async (n) => {
  const wish = { path: own("/flags"), n };
  newest = wish;
  const sent = flagged.catch(() => {}).then(() => wish === newest && ask("PUT", wish.path, { n_flagged: n }));
  flagged = sent;
  await sent;
  if (n === null && wish === newest) {
    await showResult();
    $("threshold").focus();
  }
});

const download = task(async (what) => {
  await flagged;
  let path = own(`/${what}`);
  if (what.startsWith("scored") && $("why").checked) path += `${what.includes("?") ? "&" : "?"}why=true`;
  const answer = await send("GET", path);
  const header = answer.headers.get("Content-Disposition") || "";
  const name = /filename\*=UTF-8''([^;]+)/.exec(header);
  const link = URL.createObjectURL(await answer.blob());
  el("a", { href: link, download: name ? decodeURIComponent(name[1]) : "download" }).click();
  setTimeout(() => URL.revokeObjectURL(link), 60000);
});

// review

const startReview = task(async () => {
  await flagged;
  await showQuestion(await ask("GET", own("/review")));
  show("review");
});

const answer = task(async (word) => {
  if (state.isAnswering || !state.review || state.review.row == null) return;
  await change(() => ask("POST", own("/review/answers"), { row: state.review.row, answer: word, alike: $("pattern").checked }));
});

const takeBack = task(async () => {
  if (!state.isAnswering && state.review?.n_answered) await change(() => ask("DELETE", own("/review/answers/last")));
});

/** Send an answer; if another tab was faster, show what is known now. */
async function change(request) {
  state.isAnswering = true;
  busy(true);
  try {
    await showQuestion(await request());
  } catch (error) {
    if (error.problem?.status === 409) await showQuestion(await ask("GET", own("/review")));
    throw error;
  } finally {
    state.isAnswering = false;
    busy(false);
  }
}

function busy(is) {
  // aria-disabled: a button that is disabled loses the keyboard's focus
  const disable = (button, really) => button.setAttribute("aria-disabled", is || really);
  for (const button of document.querySelectorAll("[data-answer]")) disable(button, state.review.row == null);
  disable($("back"), state.review.n_answered === 0);
}

function showQuestion(review) {
  const { pattern } = review;
  $("pattern-label").hidden = pattern == null;
  $("pattern").checked = false;
  if (pattern != null) {
    const more = pattern.n_rows > pattern.rows.length ? ` and ${amount(pattern.n_rows - pattern.rows.length)} more` : "";
    fill("pattern-text", `for all ${amount(pattern.n_rows)} rows of a pattern: `, value(pattern.sentence), ` (${pattern.rows.map(amount).join(", ")}${more})`);
  }
  const before = new Map((state.review?.ranking || []).map((row) => [row.row, row.rank]));
  state.review = review;
  const { left } = review;
  const number = (n) => el("b", {}, amount(Math.round(n)));
  const unsure = review.n_unsure ? [" · unsure ", number(review.n_unsure)] : [];
  const expected = left
    ? [" · expected left ", number(left.estimate), ` (${amount(Math.round(left.low))} to ${amount(Math.round(left.high))})`]
    : [];
  fill("counts", "Answered ", number(review.n_answered), " · outliers ", number(review.n_found), ...unsure, ...expected,
    " · flagged ", number(review.n_flagged));
  const names = (row) => row.names.flatMap((name) => [" · ", value(name)]);
  fill("question", ...(review.row == null ? ["Every row is answered."] : [`Row ${amount(review.row)}`, ...names(review)]));
  $("cells-table").tBodies[0].replaceChildren(...cellRows(review.cells));
  const ranking = review.ranking.map((row) => {
    const was = before.get(row.row);
    const up = before.size && was === undefined ? " new" : was > row.rank ? ` ↑${was - row.rank}` : was < row.rank ? ` ↓${row.rank - was}` : "";
    return el("tr", { class: [row.is_flagged ? "flagged" : "", row.row === review.row ? "asked" : ""].join(" ").trim() },
      el("td", { class: "number" }, amount(row.rank), el("span", { class: "moved" }, up)),
      el("td", {}, amount(row.row), ...names(row)),
      el("td", {}, row.answer || ""),
      el("td", { class: "quiet" }, ...row.unusual.flatMap((text, i) => (i ? ["; ", value(text)] : [value(text)]))));
  });
  $("ranking-table").tBodies[0].replaceChildren(...ranking);
  busy(false);
}

// what is clicked, typed and dropped

$("file").addEventListener("change", () => upload($("file").files[0]).then(() => { $("file").value = ""; }));
$("example").addEventListener("click", openExample);
$("detect").addEventListener("click", detect);
$("reading-form").addEventListener("submit", reread);
$("cancel").addEventListener("click", task(async () => { await ask("DELETE", own("/job")); }));
$("more-columns").addEventListener("click", () => {
  listColumns(state.inspection.columns);
  $("more-columns").hidden = true;
  document.querySelectorAll("#columns-table select")[FEW_COLUMNS].focus();
});
$("more-rows").addEventListener("click", () => {
  listRows(Infinity);
  move();
  const next = $("rows-table").tBodies[0].rows[FEW_ROWS];
  next.tabIndex = -1;
  next.focus();
});
$("threshold").addEventListener("input", () => slide(Number($("threshold").value)));
$("threshold").addEventListener("change", () => flag(cut()[0]));
$("number").addEventListener("change", () => { if ($("number").value !== "") choose(Number($("number").value)); });
$("number").addEventListener("blur", () => { $("number").value = cut()[0]; });
$("to-gap").addEventListener("click", () => choose(state.result.scores.gap));
$("reset").addEventListener("click", () => flag(null));
$("map").addEventListener("click", (event) => {
  const row = nearestRow(state.result.map, event);
  if (row != null) lookUp(row + 1);
});
$("look-up").addEventListener("submit", (event) => {
  event.preventDefault();
  lookUp(Number($("wanted").value));
});
$("to-review").addEventListener("click", startReview);
$("to-result").addEventListener("click", task(showResult));
$("back").addEventListener("click", takeBack);
$("delete").addEventListener("click", task(async () => { await leave(); forget(); }));
for (const button of document.querySelectorAll("[data-answer]")) {
  button.addEventListener("click", () => answer(button.dataset.answer));
}
for (const button of document.querySelectorAll("[data-get]")) {
  button.addEventListener("click", () => download(button.dataset.get));
}
const steps = { start: () => show("start"), columns: () => show("columns"), result: task(showResult), review: startReview };
for (const button of document.querySelectorAll("#steps button")) {
  button.addEventListener("click", steps[button.dataset.step]);
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest?.("input:not([type=checkbox]), select, textarea")) return;
  const pressed = event.key.toLowerCase();
  if (!$("review").hidden) {
    const words = { y: "yes", n: "no", u: "unsure", "?": "unsure" };
    if (words[pressed]) answer(words[pressed]);
    else if (pressed === "b") takeBack();
    else if (pressed === "a" && state.review?.pattern) $("pattern").click();
  } else if (!$("result").hidden) {
    if (pressed === "y") judge("wrong");
    else if (pressed === "n") judge("right");
    else if (pressed === "b") takeFindingBack();
    else if (pressed === "c" && state.finding) $("correction").focus();
    else if (pressed === "a" && state.finding && !$("alike-label").hidden) $("alike").click();
    else if (pressed === "escape") closeRow();
    else if (pressed.startsWith("arrow") && event.target.closest?.("#findings")) moveFocus(pressed);
    else return;
    event.preventDefault();
  }
});
for (const button of document.querySelectorAll("[data-verdict]")) {
  button.addEventListener("click", () => judge(button.dataset.verdict));
}
$("verdict").addEventListener("submit", (event) => {
  event.preventDefault();
  correct();
});
$("take-back").addEventListener("click", takeFindingBack);
document.addEventListener("judged", () => {
  state.result.has_answers = state.result.wrong.has_answers;
  listFindings();
  move();
});
$("rank-again").addEventListener("click", task(showResult));
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", kind === "dragover" && !$("start").hidden);
    if (kind === "drop" && !$("start").hidden) upload(event.dataTransfer.files[0]);
  });
}

/** Make a field of the form for reading: a choice, a number or a text. */
function field({ name, label, kind, choices }) {
  const options = choices.map(([value, text]) => el("option", { value }, text));
  const number = kind === "integer" ? { type: "number", min: 0, max: 1000000 } : {};
  const input = options.length > 1 ? el("select", { name }, ...options)
    : el("input", { name, maxlength: 200, placeholder: choices[0][1], ...number });
  return el("label", {}, label, " ", input);
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  task(async () => {
    await send("POST", "/api/session", { token: $("token").value });
    location.reload();
  })();
});

/** Exchange the code of the printed link for a cookie; a browser that has one needs no code. */
async function signIn() {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, "", "/");
  await send("POST", "/api/session", { code }).catch(() => {});
}

/** Show the table that the address names, after a reload. */
const restore = task(async () => {
  await signIn();
  let about;
  try {
    about = await ask("GET", "/api");
  } catch (error) {
    if (error.problem?.status !== 401) throw error;
    show("sign-in");
    return;
  }
  $("version").textContent = about.version;
  state.form = about.form;
  state.roles = [["", "as read"], ...Object.entries(about.uses)];
  $("reading-form").prepend(...about.form.map(field));
  state.most = about.limits.max_mb * 2 ** 20;
  $("most").textContent = `, up to ${megabytes(state.most)} MB`;
  $("where").textContent = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname)
    ? "The file stays on this computer." : "The file goes to the server of this page alone.";
  const place = location.hash;
  const [id, part] = place.slice(1).split("/");
  if (!/^[\w-]{22}$/.test(id)) return;
  state.isRestoring = true;
  await reopen(id, part).finally(() => { state.isRestoring = false; });
  window.scrollTo(0, Number(sessionStorage.getItem(place)));
});

async function reopen(id, part) {
  state.table = await ask("GET", `/api/tables/${id}`);
  if (state.table.job?.state === "running") {
    const isDetection = state.table.job.kind === "detection";
    if (state.table.is_inspected) state.inspection = await ask("GET", own("/inspection"));
    await follow(isDetection ? "Checking the table" : "Reading the table");
  }
  const { is_inspected, is_scored, job } = state.table;
  if (is_inspected) await showColumns();
  else if (job?.state === "failed") readAgain();
  if (!is_scored && job?.state === "failed") throw new Refused(job.problem);
  if (!is_scored) return;
  await showResult();
  if (part === "review") await startReview();
  else if (part === "columns" || part === "start") show(part);
}

/** Show the step that the address names, after back and forward. */
async function followAddress() {
  if (!$("working").hidden || !$("sign-in").hidden) return;
  const [id, part] = location.hash.slice(1).split("/");
  const reached = [...document.querySelectorAll("#steps button:enabled")].map((button) => button.dataset.step);
  state.isRestoring = true;
  await steps[id === state.table?.id && reached.includes(part) ? part : "start"]();
  state.isRestoring = false;
}
window.addEventListener("pagehide", () => sessionStorage.setItem(location.hash, window.scrollY));
let shown = restore();
window.addEventListener("popstate", () => { shown = shown.then(followAddress); });
