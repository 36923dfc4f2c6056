// Who is signed in. The tokens are kept for this tab and end with it: nothing is written where
// another tab, another user or a later day would find it.

const KEY = "cynode.session";
// A duplicated tab starts with a copy of the session, and a refresh token works once: whoever
// uses it tells the others what came of it.
const others = new BroadcastChannel(KEY);

let session = read();

others.onmessage = ({ data }) => {
  if (session?.refresh && session.refresh === data.used) keep(data.session);
};

/** The session: a token with or without the one that refreshes it, or nothing. */
export const current = () => session;

/** Signs in with a pair of tokens as the API gives them. */
export function keepPair(pair) {
  const used = session?.refresh;
  const expires = Date.now() + pair.expires_in * 1000;
  keep({ token: pair.access_token, refresh: pair.refresh_token, expires });
  if (used) others.postMessage({ used, session });
}

/** Signs in with an API token. */
export function keepToken(token) {
  keep({ token });
}

/** Forgets everything. */
export function forget() {
  session = null;
  sessionStorage.removeItem(KEY);
}

function keep(value) {
  session = value;
  sessionStorage.setItem(KEY, JSON.stringify(value));
}

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}
