// Requests to the REST API, with the session's token, and refusals in words.

import { current, forget, keepPair, keepToken } from "./session.js";

/** How long before its end an access token is replaced. */
const EARLY_MS = 30_000;

/** Why something was refused, as a person reads it. */
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The server answered ${status}.`);
    this.status = status;
    this.faults = problem.errors ?? [];
    this.trace = problem.instance ?? null;
  }
}

export const get = (path) => ask("GET", path);
export const post = (path, body) => ask("POST", path, body);
export const put = (path, body) => ask("PUT", path, body);
export const patch = (path, body) => ask("PATCH", path, body);
export const remove = (path) => ask("DELETE", path);

/** Waits for a change; if another one came first, the page is refreshed before the refusal is shown. */
export async function orRefresh(refresh, change) {
  try {
    return await change;
  } catch (error) {
    if (error.status === 409) await refresh();
    throw error;
  }
}

/** The content of a stored file, as text. */
export const getText = (path) =>
  authorized((token) => request("GET", path, { token })).then((response) => response.text());

/** The content of a stored file. */
export const getBlob = (path) =>
  authorized((token) => request("GET", path, { token })).then((response) => response.blob());

/** Opens a stream of events that goes on after `lastEventId`; returns its response. */
export function openStream(path, { lastEventId, signal }) {
  const headers = { accept: "text/event-stream" };
  if (lastEventId) headers["last-event-id"] = lastEventId;
  return authorized((token) => request("GET", path, { token, headers, signal }));
}

/** Signs in with a handle and its password. */
export async function signIn(handle, password) {
  keepPair(await send("POST", "/v1/auth/login", { handle, password }));
}

/** Signs in with an API token, if it is one. */
export async function signInWithToken(token) {
  await send("GET", "/v1/users/me", undefined, token);
  keepToken(token);
}

/** Ends the session here, and at the server if it is one of a password. */
export async function signOut() {
  const refresh = current()?.refresh;
  forget();
  if (refresh) await send("POST", "/v1/auth/logout", { refresh_token: refresh });
}

const ask = (method, path, body) => authorized((token) => send(method, path, body, token));

/** Calls `act` with the token of the session, and once more with a new one if the server rejects it. */
async function authorized(act) {
  if (current()?.refresh && current().expires - Date.now() < EARLY_MS) await refresh();
  const used = current()?.token;
  try {
    return await act(used);
  } catch (error) {
    if (error.status !== 401) throw error;
    // Another request, or another tab, may have replaced the token meanwhile.
    if (current()?.token === used) await refresh();
    return act(current()?.token);
  }
}

let refreshing = null;

/** Replaces the tokens, once for everybody who waits: a refresh token that is used twice ends its session. */
function refresh() {
  refreshing ??= replace().finally(() => (refreshing = null));
  return refreshing;
}

async function replace() {
  const token = current()?.refresh;
  try {
    if (!token) throw new Refusal(401, { detail: "The token is no longer accepted." });
    keepPair(await send("POST", "/v1/auth/refresh", { refresh_token: token }));
  } catch (error) {
    if (error.status !== 401) throw error;
    forget();
    window.dispatchEvent(new CustomEvent("signed-out"));
    throw error;
  }
}

async function send(method, path, body, token) {
  const response = await request(method, path, { body, token });
  return response.json().catch(() => null);
}

/** Sends a request; returns a response that is no refusal. */
async function request(method, path, { body, token, headers = {}, signal }) {
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "omit", cache: "no-store", redirect: "error",
    });
  } catch {
    throw new Refusal(0, { detail: "CyNode cannot be reached. Is it running?" });
  }
  if (!response.ok) throw new Refusal(response.status, (await response.json().catch(() => null)) ?? {});
  return response;
}
