// Where a tool may be called from, in words. The command line uses the words in brackets.

export const SCOPES = [
  ["both", "Everywhere (both)"],
  ["pm", "Managers, people (pm)"],
  ["sandbox", "Sandboxes (sandbox)"],
];

/** The words for a scope. */
export const scopeWords = (scope) => SCOPES.find(([value]) => value === scope)?.[1] ?? scope;
