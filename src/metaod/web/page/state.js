// What the page knows, which part it shows, and how it talks to the server.

import { $, el, fill, visible } from "./elements.js";

const PARTS = ["sign-in", "start", "columns", "working", "result", "review"];

export const state = {
  table: null, inspection: null, uses: new Map(), result: null, review: null, chosen: 0, most: Infinity,
  finding: null, // the finding that answers are about
  doubted: "", // a typed value that was asked about
  isRestoring: false, // the page shows a step that the address names already
  isAnswering: false,
};

export function show(part) {
  for (const id of PARTS) $(id).hidden = id !== part;
  const reached = { start: true, columns: state.inspection, result: state.result, review: state.result };
  for (const button of document.querySelectorAll("#steps button")) {
    button.disabled = part === "working" || !reached[button.dataset.step];
    const current = button.dataset.step === part;
    if (current) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }
  const place = state.table && reached[part] && !state.isRestoring ? `#${state.table.id}/${part}` : location.hash;
  if (place !== location.hash) history.pushState(null, "", place);
  $(`${part}-title`).focus();
  window.scrollTo(0, 0);
}

// talking to the server

export class Refused extends Error {
  constructor(problem) {
    super(problem.detail || problem.title);
    this.problem = problem;
  }
}

export async function send(method, path, body, headers = {}) {
  const options = { method, headers, body };
  if (body !== undefined && !(body instanceof Blob)) {
    options.body = JSON.stringify(body);
    options.headers = { "Content-Type": "application/json" };
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    const detail = "The server does not answer.";
    throw new Refused({ detail, remedy: "Check that 'metaod serve' is running, then try again." });
  }
  if (answer.ok) return answer;
  let problem = { title: `The server answered with ${answer.status}.` };
  try {
    problem = await answer.json();
  } catch { /* no problem document */ }
  problem.status = answer.status;
  throw new Refused(problem);
}

export const ask = async (method, path, body) => (await send(method, path, body)).json();
export const own = (rest = "") => `/api/tables/${state.table.id}${rest}`;

function complain(error) {
  const problem = error.problem || { detail: `The page has a defect: ${error.message}` };
  const what = problem.detail || problem.title;
  fill("problem",
    el("p", {}, el("strong", {}, problem.where ? visible(problem.where) + ": " : ""), visible(what)),
    problem.remedy ? el("p", {}, "What to do: ", visible(problem.remedy)) : null);
  $("problem").hidden = false;
  $("problem").scrollIntoView({ block: "nearest" });
  if (!error.problem) console.error(error);
  if (problem.status === 404 && state.table) forget();
}

/** Run what a click starts: clear the last problem, show a new one. */
export function task(work) {
  return async (...given) => {
    $("problem").hidden = true;
    try {
      await work(...given);
    } catch (error) {
      complain(error);
    }
  };
}

export function forget() {
  Object.assign(state, { table: null, inspection: null, result: null, review: null });
  history.replaceState(null, "", "/");
  show("start");
}
