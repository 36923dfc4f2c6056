# A recording of the specification that an agent with a model writes. The demo agent runs it in the sandbox.
set -e
mkdir -p docs/specs/components
cat > docs/specs/components/main.md <<'SPEC'
# Dark mode

- `settings.html` has a button "Dark mode".
- The button switches the colours of the page; the choice is kept in `localStorage`.
- `tests/run.sh` fails without the button.
SPEC
