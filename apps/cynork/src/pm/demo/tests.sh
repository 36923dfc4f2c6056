# Fails if a page lost what it must have.
grep -q '<h1>Settings</h1>' settings.html || { echo 'the heading is missing'; exit 1; }
