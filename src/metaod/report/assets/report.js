"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const part = (root, name) => root.querySelectorAll(`[data-part="${name}"]`);
  const rows = Array.from(byId("list").tBodies[0].rows);
  const shown = {
    find: byId("find"), by: byId("by"), only: byId("only"), slider: byId("threshold"),
    number: byId("number"),
  };
  const scoreFigure = byId("score-figure");
  const mapFigure = byId("map-figure");
  const box = { left: 56, right: 624 }; // the axis of the scores in the drawing
  const many = (number) => number.toLocaleString("en-US");
  const flagMark = byId("flag-mark").content;
  let chosen = data.chosen;

  // threshold

  const flagged = () => data.flagged[chosen];
  const isDetected = () => chosen === data.chosen; // then rows with wrong cells are flagged, too
  const total = () => isDetected() ? data.detected : flagged();
  const listDetected = rows.map((row) => row.classList.contains("flagged"));
  const isFlagged = (place) => isDetected() ? listDetected[place] : place < flagged();

  function mapPaths() {
    const dots = [], diamonds = [];
    for (let i = data.map.x.length - 1; i >= 0; i--) {
      const x = data.map.x[i], y = data.map.y[i];
      if (isDetected() ? data.map.detected[i] : data.map.order[i] < flagged()) diamonds.push(`M${x} ${(y - 5).toFixed(1)}l5 5-5 5-5-5z`);
      else dots.push(`M${x} ${y}h0`);
    }
    return [dots.join(""), diamonds.join("")];
  }

  function setText(name, text) {
    for (const element of part(document, name)) element.textContent = text;
  }

  function showThreshold() {
    const count = flagged();
    const percent = 100 * count / data.rows;
    const isTiny = percent > 0 && percent < 0.1;
    const share = (isTiny ? Number(percent.toPrecision(2)) : percent.toFixed(1)) + "%";
    const threshold = Number(data.thresholds[chosen].toPrecision(4)).toString();
    setText("count", many(count));
    setText("plain-count", String(count));
    setText("share", share);
    setText("threshold", threshold);
    const wrong = total() > count ? " or a wrong cell" : "";
    const said = `${many(total())} of ${many(data.rows)} rows flagged, score above ${threshold}${wrong}`;
    for (const element of part(document, "detected")) element.hidden = !isDetected();
    shown.slider.value = String(chosen);
    shown.slider.setAttribute("aria-valuetext", said);
    if (document.activeElement !== shown.number) shown.number.value = String(count);
    byId("said").textContent = said;
    const x = box.left + data.places[chosen] * (box.right - box.left);
    for (const clip of part(scoreFigure, "above")) clip.setAttribute("x", x.toFixed(1));
    for (const line of part(scoreFigure, "line"))
      line.setAttribute("transform", `translate(${x.toFixed(1)} 0)`);
    const [dots, diamonds] = mapPaths();
    part(mapFigure, "others")[0].setAttribute("d", dots);
    part(mapFigure, "flagged")[0].setAttribute("d", diamonds);
    byId("score-figure-desc").textContent = said + ".";
    rows.forEach((row, place) => {
      const flag = row.querySelector(".flag"), is = isFlagged(place);
      if (is !== Boolean(flag.firstChild))
        flag.replaceChildren(...(is ? flagMark.cloneNode(true).childNodes : []));
      row.classList.toggle("flagged", is);
    });
    showRows();
  }

  function choose(place) {
    const next = Math.min(Math.max(place, 0), data.flagged.length - 1);
    if (next !== chosen) { chosen = next; showThreshold(); }
  }

  // the place of the value that is nearest to the wanted one, in a list that rises or falls
  function nearest(values, wanted) {
    let best = 0;
    values.forEach((value, place) => {
      if (Math.abs(value - wanted) < Math.abs(values[best] - wanted)) best = place;
    });
    return best;
  }

  shown.slider.addEventListener("input", () => choose(Number(shown.slider.value)));
  shown.number.addEventListener("input", () => {
    if (shown.number.value !== "") choose(nearest(data.flagged, Number(shown.number.value)));
  });
  shown.number.addEventListener("blur", () => { shown.number.value = String(flagged()); });
  byId("reset").addEventListener("click", () => choose(data.chosen));
  if (byId("gap")) {
    byId("gap").addEventListener("click", () => {
      choose(nearest(data.flagged, Number(byId("gap").value)));
    });
  }

  function inFigure(figure, event) {
    const point = new DOMPoint(event.clientX, event.clientY);
    return point.matrixTransform(figure.getScreenCTM().inverse());
  }
  function drag(event) {
    const x = inFigure(scoreFigure, event).x;
    choose(nearest(data.places, (x - box.left) / (box.right - box.left)));
  }
  scoreFigure.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    scoreFigure.setPointerCapture(event.pointerId);
    event.preventDefault();
    drag(event);
  });
  scoreFigure.addEventListener("pointermove", (event) => {
    if (scoreFigure.hasPointerCapture(event.pointerId)) drag(event);
  });

  // the list: filters and order

  function showRows() {
    const words = shown.find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, place) => {
      const text = words.length ? row.textContent.toLowerCase() : "";
      const is = (!shown.only.checked || isFlagged(place))
        && (shown.by.value === "" || row.dataset.why.split(" ").includes(shown.by.value))
        && words.every((word) => text.includes(word));
      row.hidden = !is;
      if (is) count += 1;
    });
    const hidden = shown.only.checked ? total() - rows.filter((_, place) => isFlagged(place)).length : 0;
    const more = hidden > 0 ? `; ${many(hidden)} more flagged ${hidden === 1 ? "row is" : "rows are"} not in this list` : "";
    byId("listed").textContent = `${many(count)} listed${more}`;
  }
  /** Show a row that the filters hide. */
  function reveal(place) {
    if (!rows[place].hidden) return;
    shown.find.value = ""; shown.by.value = ""; shown.only.checked = isFlagged(place);
    showRows();
  }
  for (const link of document.querySelectorAll('a[href^="#row-"]'))
    link.addEventListener("click", () => reveal(rows.indexOf(document.querySelector(link.hash))));
  for (const control of [shown.find, shown.by, shown.only])
    control.addEventListener("input", showRows);

  const cellOf = (row, kind) => row.cells[kind];
  function orderOf(kind) {
    const places = rows.map((_, place) => place);
    if (kind === "rank") return places;
    if (kind === "score") return places.reverse();
    if (kind === "row")
      return places.sort((a, b) => Number(cellOf(rows[a], 1).textContent) - Number(cellOf(rows[b], 1).textContent));
    return data.orders[Number(kind)];
  }
  function sortBy(heading) {
    const kind = heading.dataset.sort;
    const isUp = heading.getAttribute("aria-sort") === "ascending";
    const isFirst = !heading.hasAttribute("aria-sort");
    // the most outlying rows come first when scores are first sorted
    const down = isFirst ? kind === "score" : isUp;
    for (const other of byId("list").querySelectorAll("[aria-sort]"))
      other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const order = orderOf(kind).slice();
    if (down) order.reverse();
    byId("list").tBodies[0].append(...order.map((place) => rows[place]));
  }
  for (const heading of byId("list").querySelectorAll("[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sortBy(heading));
  }

  // the map: which row is where

  const placeOfRow = new Map(data.map.row.map((row, place) => [row, place]));
  const listPlace = new Map(rows.map((row, place) => [Number(cellOf(row, 1).textContent) - 1, place]));

  function pick(place) {
    const ring = part(mapFigure, "picked")[0];
    ring.replaceChildren();
    for (const row of rows) row.classList.remove("picked");
    if (place === null) { byId("readout").textContent = ""; return; }
    const circle = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    circle.setAttribute("cx", data.map.x[place]);
    circle.setAttribute("cy", data.map.y[place]);
    circle.setAttribute("r", "9");
    ring.append(circle);
    const row = data.map.row[place];
    const listed = listPlace.get(row);
    let text = `row ${row + 1}, ${many(data.map.order[place] + 1)} in the order of scores`;
    if (listed !== undefined) {
      rows[listed].classList.add("picked");
      const reasons = Array.from(rows[listed].querySelectorAll(".why li"), (li) => li.textContent);
      if (reasons.length) text += `: ${reasons.join("; ")}`;
    }
    byId("readout").textContent = text;
  }
  function pointAt(event) {
    const at = inFigure(mapFigure, event);
    let best = null, least = 14 * 14;
    data.map.x.forEach((x, place) => {
      const distance = (x - at.x) ** 2 + (data.map.y[place] - at.y) ** 2;
      if (distance < least) { best = place; least = distance; }
    });
    return best;
  }
  mapFigure.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse") pick(pointAt(event));
  });
  mapFigure.addEventListener("click", (event) => {
    const place = pointAt(event);
    pick(place);
    const listed = place === null ? undefined : listPlace.get(data.map.row[place]);
    if (listed === undefined) return;
    reveal(listed);
    rows[listed].scrollIntoView({ block: "center" });
    rows[listed].querySelector("button").focus({ preventScroll: true });
  });
  rows.forEach((row) => {
    const cell = cellOf(row, 1);
    const place = placeOfRow.get(Number(cell.textContent) - 1);
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Show on the map";
    button.textContent = cell.textContent;
    cell.replaceChildren(button);
    button.addEventListener("click", () => {
      pick(place);
      byId("map-title").scrollIntoView({ block: "start" });
    });
  });

  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  for (const element of document.querySelectorAll(".scripted")) element.hidden = false;
  byId("bar").hidden = false;
  document.body.classList.add("moves");
  showThreshold();
})();
