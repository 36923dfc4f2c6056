// What happens while a page is open: a stream of events, or repeated reads. Both rest while the
// tab is hidden, and end with the page.

import { openStream } from "./api.js";
import { fill, visible } from "./dom.js";
import { complain } from "./notices.js";

/** How long the first pause after a lost stream is, and the longest one. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1000, 30_000];
/** Events come in groups: a page is read once for each. Without events, it is read regularly. */
const [REFRESH_MS, EVERY_MS] = [400, 5000];

/**
 * Calls `refresh` after the events of a task, until `signal` is aborted. `onEvent` gets every event of the task, from the first
 * one, if a part of the page shows them; `stale` is the element that says whether the page is up to date.
 */
export function followTask(task, { signal, refresh, onEvent, stale }) {
  const refreshQuietly = () => refresh().catch((error) => fill(stale, visible(error.message)));
  const refreshSoon = debounced(refreshQuietly, REFRESH_MS, signal);
  const stream = new URLSearchParams({ task });
  if (onEvent) stream.set("after", "0");
  // A person who may read the task, but not its events, gets it by repeated reads.
  follow(`/v1/events?${stream}`, {
    signal,
    onEvent: (event) => {
      onEvent?.(event);
      // What happened before the page was opened is in what it has read.
      refreshSoon();
    },
    onState: (isOpenNow) => {
      fill(stale, isOpenNow ? null : "Live updates are interrupted. CyNode is asked again until it answers.");
      if (isOpenNow) refreshSoon();
    },
  }).then(() => repeat(refreshQuietly, EVERY_MS, signal)).catch(complain);
}

/**
 * Follows a stream of events until `signal` is aborted; a lost stream is opened again after the last event. `onEvent` gets each
 * event, `onState` whether the stream is open.
 */
async function follow(path, { signal, onEvent, onState }) {
  let [lastEventId, pause] = [null, FIRST_PAUSE_MS];
  while (!signal.aborted) {
    await untilVisible(signal);
    if (signal.aborted) return;
    const connection = new AbortController();
    let isLost = false;
    const close = () => connection.abort();
    const rest = () => document.hidden && close();
    signal.addEventListener("abort", close);
    document.addEventListener("visibilitychange", rest);
    try {
      const response = await openStream(path, { lastEventId, signal: connection.signal });
      onState(true);
      pause = FIRST_PAUSE_MS;
      await readEvents(response, (event, id) => {
        lastEventId = id;
        onEvent(event);
      });
    } catch (error) {
      // Without a session, or a right to the subject, a further attempt changes nothing.
      if ([401, 403, 404].includes(error.status)) return;
      isLost = true;
    } finally {
      signal.removeEventListener("abort", close);
      document.removeEventListener("visibilitychange", rest);
    }
    if (signal.aborted) return;
    if (document.hidden) continue;
    // The server ends the stream of a token that expired: the next one has a new token.
    if (isLost) onState(false);
    await sleep(pause, signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

/** Reads server-sent events from a response. */
async function readEvents(response, onEvent) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const field = (name) => block.split("\n").filter((line) => line.startsWith(`${name}:`))
        .map((line) => line.slice(name.length + 1).replace(/^ /, "")).join("\n");
      if (field("data")) onEvent(JSON.parse(field("data")), field("id"));
    }
  }
}

/** Calls `act` again and again until `signal` is aborted, and at once when the tab becomes visible. */
export async function repeat(act, everyMs, signal) {
  while (!signal.aborted) {
    await sleep(everyMs, signal);
    await untilVisible(signal);
    if (!signal.aborted) await act();
  }
}

/** Makes a function that calls `act` once for many calls, at most every `everyMs`. */
function debounced(act, everyMs, signal) {
  let timer = null;
  signal.addEventListener("abort", () => clearTimeout(timer));
  return () => {
    if (signal.aborted) return;
    timer ??= setTimeout(() => {
      timer = null;
      act();
    }, everyMs);
  };
}

function untilVisible(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

function sleep(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
