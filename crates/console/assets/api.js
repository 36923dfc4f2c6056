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
export const patch = (path, body) => ask("PATCH", path, body);
export const remove = (path) => ask("DELETE", path);

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

async function ask(method, path, body) {
  if (current()?.refresh && current().expires - Date.now() < EARLY_MS) await refresh();
  const used = current()?.token;
  try {
    return await send(method, path, body, used);
  } catch (error) {
    if (error.status !== 401) throw error;
    // Another request, or another tab, may have replaced the token meanwhile.
    if (current()?.token === used) await refresh();
    return send(method, path, body, current()?.token);
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
  const headers = {};
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "omit", cache: "no-store", redirect: "error",
    });
  } catch {
    throw new Refusal(0, { detail: "CyNode cannot be reached. Is it running?" });
  }
  const value = await response.json().catch(() => null);
  if (!response.ok) throw new Refusal(response.status, value ?? {});
  return value;
}
