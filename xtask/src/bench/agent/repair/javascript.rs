//! Repairs in JavaScript.

use super::Repair;

pub(super) const REPAIRS: &[Repair] = &[
    Repair {
        name: "sort-numbers",
        language: "javascript",
        prompt: "sortNumbers() in sort.js sorts 10 before 9. It must sort by value, and leave the given array as it is. Repair it.",
        files: &[(
            "sort.js",
            "function sortNumbers(numbers) {\n  return numbers.sort();\n}\n\nmodule.exports = { sortNumbers };\n",
        )],
        test: (
            "hidden.js",
            "const assert = require('assert');\nconst { sortNumbers } = require(process.cwd() + '/sort.js');\n\
             const given = [10, 9, 100, 1];\nassert.deepStrictEqual(sortNumbers(given), [1, 9, 10, 100]);\n\
             assert.deepStrictEqual(given, [10, 9, 100, 1]);\n",
        ),
        reference: (
            "sort.js",
            "function sortNumbers(numbers) {\n  return [...numbers].sort((a, b) => a - b);\n}\n\n\
             module.exports = { sortNumbers };\n",
        ),
    },
    Repair {
        name: "last-page",
        language: "javascript",
        prompt: "pageCount() in pages.js forgets the last page if it is not full: 11 items with 10 on a page are 2 pages. Repair it.",
        files: &[(
            "pages.js",
            "function pageCount(items, perPage) {\n  return Math.floor(items / perPage);\n}\n\nmodule.exports = { pageCount };\n",
        )],
        test: (
            "hidden.js",
            "const assert = require('assert');\nconst { pageCount } = require(process.cwd() + '/pages.js');\n\
             assert.deepStrictEqual([0, 1, 10, 11, 20, 21].map((n) => pageCount(n, 10)), [0, 1, 1, 2, 2, 3]);\n",
        ),
        reference: (
            "pages.js",
            "function pageCount(items, perPage) {\n  return Math.ceil(items / perPage);\n}\n\nmodule.exports = { pageCount };\n",
        ),
    },
    Repair {
        name: "missing-key",
        language: "javascript",
        prompt: "get() in settings.js throws if a part of the path is missing. It must return the fallback instead. Repair it.",
        files: &[(
            "settings.js",
            "function get(settings, path, fallback) {\n  let value = settings;\n  for (const key of path.split('.')) {\n    \
             value = value[key];\n  }\n  return value;\n}\n\nmodule.exports = { get };\n",
        )],
        test: (
            "hidden.js",
            "const assert = require('assert');\nconst { get } = require(process.cwd() + '/settings.js');\n\
             const all = { theme: { dark: false, size: 0 } };\nassert.strictEqual(get(all, 'theme.dark', true), false);\n\
             assert.strictEqual(get(all, 'theme.size', 9), 0);\nassert.strictEqual(get(all, 'font.name', 'sans'), 'sans');\n\
             assert.strictEqual(get(all, 'theme.font.name', 'sans'), 'sans');\n",
        ),
        reference: (
            "settings.js",
            "function get(settings, path, fallback) {\n  let value = settings;\n  for (const key of path.split('.')) {\n    \
             value = value?.[key];\n  }\n  return value === undefined ? fallback : value;\n}\n\nmodule.exports = { get };\n",
        ),
    },
    Repair {
        name: "escape-html",
        language: "javascript",
        prompt: "escapeHtml() in html.js replaces only the first < and > of a text, and leaves & and double quotes. It must replace \
                 all of them, as &lt; &gt; &amp; and &quot;. Repair it.",
        files: &[(
            "html.js",
            "function escapeHtml(text) {\n  return text.replace('<', '&lt;').replace('>', '&gt;');\n}\n\n\
             module.exports = { escapeHtml };\n",
        )],
        test: (
            "hidden.js",
            "const assert = require('assert');\nconst { escapeHtml } = require(process.cwd() + '/html.js');\n\
             assert.strictEqual(escapeHtml('<b>\"a\" & <i>'), '&lt;b&gt;&quot;a&quot; &amp; &lt;i&gt;');\n\
             assert.strictEqual(escapeHtml('&lt;'), '&amp;lt;');\n",
        ),
        reference: (
            "html.js",
            "function escapeHtml(text) {\n  return text\n    .replaceAll('&', '&amp;')\n    .replaceAll('<', '&lt;')\n    \
             .replaceAll('>', '&gt;')\n    .replaceAll('\"', '&quot;');\n}\n\nmodule.exports = { escapeHtml };\n",
        ),
    },
];
