# A recording of what an agent with a model does for "Add a dark mode toggle to the settings page".
# The demo agent runs it in the sandbox; nothing here was decided by a model.
set -e
cat > dark-mode.css <<'CSS'
:root.dark { background: #16181d; color: #e8e8e8; }
CSS
cat > dark-mode.js <<'JS'
const root = document.documentElement;
root.classList.toggle("dark", localStorage.getItem("dark") === "yes");
addEventListener("DOMContentLoaded", () => {
  document.getElementById("dark-mode").addEventListener("click", () => {
    const isDark = root.classList.toggle("dark");
    localStorage.setItem("dark", isDark ? "yes" : "no");
  });
});
JS
sed -i 's|</head>|<link rel="stylesheet" href="dark-mode.css">\n<script src="dark-mode.js"></script>\n</head>|' settings.html
sed -i 's|</body>|<button id="dark-mode" type="button">Dark mode</button>\n</body>|' settings.html
cat >> tests/run.sh <<'TEST'
grep -q 'id="dark-mode"' settings.html || { echo 'the dark mode toggle is missing'; exit 1; }
TEST
