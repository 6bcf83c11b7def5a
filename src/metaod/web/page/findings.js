// What is probably wrong in the table, whole rows, and the answers about their cells.

import { $, amount, counted, cutName, el, fill, value } from "./elements.js";
import { Refused, ask, own, state, task } from "./state.js";

const key = (finding) => `${finding.row} ${finding.name}`;
const isSame = (one, other) => one != null && other != null && key(one) === key(other);

/** List what is probably wrong, without the findings that are answered. */
export function listFindings() {
  const { wrong } = state.result;
  closeRow();
  $("wrong").hidden = $("as-cells").hidden = wrong == null;
  if (wrong == null) return;
  const { groups, n_cells, n_rows, n_groups, n_wrong, n_right, n_corrected } = wrong;
  const answered = n_wrong + n_right
    ? ` Answered: ${n_wrong} wrong (${n_corrected} with a correct value), ${n_right} right.` : "";
  const hidden = n_groups > groups.length ? ` The first ${groups.length} of ${amount(n_groups)} patterns are listed.` : "";
  $("wrong-counts").textContent = (n_cells ? `${counted(n_cells, "cell")} in ${counted(n_rows, "row")}, the most certain first.` : `Nothing${answered ? " else" : ""} is probably wrong.`) + hidden + answered;
  fill("findings", ...groups.map((group) => {
    const cells = group.cells.map((finding) => el("li", { "data-finding": key(finding) },
      el("button", { type: "button", class: "finding", "aria-expanded": "false", onclick: (event) => chooseFinding(event.target.closest("li"), finding, group) },
        el("span", { class: "quiet" }, `row ${amount(finding.row)}`, ...finding.names.flatMap((name) => [" · ", value(name)])), " ",
        el("b", {}, value(finding.column)), " ", suspect(finding.value), " ", value(finding.reason), " ",
        el("span", { class: "certainty" }, finding.certainty))));
    if (group.n_cells > cells.length) cells.push(el("li", { class: "quiet" }, `and ${amount(group.n_cells - cells.length)} more`));
    if (group.n_cells === 1) return cells[0];
    return el("li", {}, el("details", { open: cells.length < 4 }, el("summary", {}, value(group.sentence)), el("ul", {}, ...cells)));
  }));
  $("take-back").hidden = $("rank-again").hidden = !(n_wrong + n_right);
  $("corrected").hidden = !n_corrected;
}

export const suspect = (text) => el("span", { class: "suspect" }, text === "" || text == null ? el("em", {}, "missing") : value(text));

const chooseFinding = task(async (item, finding, group) => {
  if (isSame(state.finding, finding) && item.contains($("row-panel"))) closeRow();
  else await openRow(item, finding.row, finding, group);
});

/** Show a whole row below what was clicked, and ask about one of its findings. */
export async function openRow(host, row, finding, group) {
  const found = await ask("GET", own(`/rows/${row}`));
  closeRow();
  const of = finding || found.cells.find((cell) => cell.finding && cell.is_wrong == null)?.finding || null;
  fill("row-title", `Row ${amount(row)}`, ...found.names.flatMap((name) => [" · ", value(name)]));
  $("row-table").tBodies[0].replaceChildren(...cellRows(found.cells));
  host.append($("row-panel"));
  host.closest("li, tr")?.querySelector("[aria-expanded]")?.setAttribute("aria-expanded", "true");
  $("row-panel").hidden = false;
  state.finding = of;
  $("verdict").hidden = of == null;
  if (of == null) return;
  $("verdict-of").hidden = group != null; // the line above says it
  fill("verdict-of", el("b", {}, value(of.column)), " ", suspect(of.value), " ", value(of.reason), ` (${of.certainty})`);
  const gets = of.suggestion == null ? [] : [": correct to ", of.suggestion === "" ? "nothing" : value(of.suggestion)];
  document.querySelector("[data-verdict=wrong]").replaceChildren("It is wrong", ...gets, " ", el("kbd", {}, "y"));
  $("correction").value = state.doubted = "";
  const n = group ? group.n_cells : 1;
  $("alike-label").hidden = n < 2;
  $("alike").checked = false;
  $("alike-text").textContent = `for all ${amount(n)} cells of this pattern`;
}

export function closeRow() {
  state.finding = null;
  $("row-panel").hidden = true;
  const place = $("row-panel").closest("tr.opened");
  for (const button of document.querySelectorAll("[aria-expanded=true]")) button.setAttribute("aria-expanded", "false");
  $("main").append($("row-panel"));
  document.querySelector("#map .ring")?.setAttribute("d", "");
  place?.remove();
}

/** Make the lines of a row's cells. */
export function cellRows(cells) {
  return cells.map((cell) => {
    const { finding, is_wrong, correction } = cell;
    const said = is_wrong == null ? "" : is_wrong ? ["you: wrong", ...(correction == null ? [] : [", correct is ", correction === "" ? "nothing" : value(correction)])] : ["you: right"];
    return el("tr", { class: cell.sets_apart || finding ? "apart" : null },
      el("td", {}, value(cutName(cell.name))),
      el("td", {}, finding ? suspect(cell.value) : cell.value == null ? el("em", {}, "missing") : value(cell.value)),
      el("td", { class: "quiet" }, finding ? el("span", { class: "reason" }, value(finding.reason)) : null, value(cell.usual),
        said ? el("b", {}, " ", ...said) : null));
  });
}

/** Take the typed value as the correct one; one without digits is asked about if the column has none like it. */
export const correct = task(async () => {
  const text = $("correction").value;
  const { kind } = state.inspection.columns.find(({ name }) => name === state.finding.name) || {};
  if (["numeric", "date", "duration"].includes(kind) && !/\p{N}/u.test(text) && state.doubted !== text) {
    state.doubted = text;
    throw new Refused({ detail: "The value has no digit, and the column holds numbers or dates.", remedy: "Press “Correct” again if it is right." });
  }
  await judge("wrong", text);
});

/** Answer about the chosen finding, and go on with the next one. */
export const judge = task(async (answer, correction = null) => {
  const { finding } = state;
  if (state.isAnswering || finding == null) return;
  const line = $("row-panel").closest("tr.opened")?.previousElementSibling;
  const next = line ? [] : nextFindings(finding);
  const body = { row: finding.row, column: finding.name, answer, correction, alike: $("alike").checked };
  await judged(() => ask("POST", own("/findings/answers"), body), next);
  line?.querySelector("button").focus();
});

export const takeFindingBack = task(async () => {
  if (!state.isAnswering && !$("take-back").hidden) await judged(() => ask("DELETE", own("/findings/answers/last")), []);
});

/** Send an answer, and open what was taken back or the first of the next findings that is left. */
async function judged(request, next) {
  state.isAnswering = true;
  try {
    state.result.wrong = await request();
  } catch (error) {
    if (error.problem?.status === 409) state.result.wrong = await ask("GET", own("/findings"));
    throw error;
  } finally {
    state.isAnswering = false;
    document.dispatchEvent(new Event("judged"));
  }
  const { taken_back } = state.result.wrong;
  const left = new Map(listed().map((item) => [item.dataset.finding, item]));
  const item = left.get((taken_back ? [key(taken_back)] : next).find((own) => left.has(own)));
  item?.closest("details")?.setAttribute("open", "");
  item?.querySelector("button").click();
  (item?.querySelector("button") || $("result-title")).focus({ preventScroll: !item });
}

/** Move the focus to the finding above or below. */
export function moveFocus(pressed) {
  const items = [...$("findings").querySelectorAll(".finding, summary")].filter((item) => item.offsetParent);
  const at = items.indexOf(document.activeElement);
  items[at + (pressed === "arrowdown" ? 1 : pressed === "arrowup" ? -1 : 0)]?.focus();
}

const listed = () => [...$("findings").querySelectorAll("[data-finding]")];

/** Return the findings that come after one, in other groups if the answer is for all of its group; then those before it. */
function nextFindings(finding) {
  const items = listed();
  const at = items.findIndex((item) => item.dataset.finding === key(finding));
  if (at < 0) return []; // only the first of many are listed
  const group = items[at].closest("details");
  const rest = items.slice(at + 1).filter((item) => !$("alike").checked || item.closest("details") !== group);
  return [...rest, ...items.slice(0, at).reverse()].map((item) => item.dataset.finding);
}
