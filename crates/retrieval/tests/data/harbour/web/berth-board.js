// The berth board on the wall of the control tower: one row for each berth, with the vessel and its departure.

// The board asks for new data every 15 seconds, and every two minutes while the tab is hidden.
const REFRESH_VISIBLE_MS = 15_000;
const REFRESH_HIDDEN_MS = 120_000;

// A row turns amber when the vessel leaves within this many minutes.
const AMBER_MINUTES = 90;

/**
 * Chooses the colour of a row. Red is reserved for two vessels that are assigned to the same berth.
 */
export function colourOfRow(row, now) {
  if (row.vessels.length > 1) return "red";
  if (row.vessels.length === 0) return "grey";
  const minutes = (row.vessels[0].departsAt - now) / 60_000;
  return minutes <= AMBER_MINUTES ? "amber" : "green";
}

/**
 * Sorts rows by quay and number, so that N10 comes after N9.
 */
export function compareBerths(a, b) {
  return a.quay.localeCompare(b.quay) || a.number - b.number;
}

export function refreshDelay() {
  return document.hidden ? REFRESH_HIDDEN_MS : REFRESH_VISIBLE_MS;
}
