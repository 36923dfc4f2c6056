"""Seven no-op steps in DBOS for Python on PostgreSQL, one at a time and many at once.

Arguments: directory of the server's socket, runs one after the other, how many at once, runs in all.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

from dbos import DBOS

STEPS = 7
TEXT = "x" * 1200


@DBOS.step()
def step(text):
    return text


@DBOS.workflow()
def seven(text):
    for _ in range(STEPS):
        text = step(text)
    return text


def main():
    sockets, runs, slots, in_all = sys.argv[1], *map(int, sys.argv[2:5])
    url = f"postgresql://cynode@/dbos_steps?host={quote(sockets, safe='')}"
    DBOS(config={"name": "steps", "system_database_url": url, "log_level": "ERROR"})
    DBOS.launch()
    seven(TEXT)
    begun = time.perf_counter()
    for _ in range(runs):
        seven(TEXT)
    one = runs * STEPS / (time.perf_counter() - begun)
    begun = time.perf_counter()
    with ThreadPoolExecutor(slots) as pool:
        list(pool.map(lambda _: seven(TEXT), range(in_all)))
    many = in_all * STEPS / (time.perf_counter() - begun)
    print(f"{one:.0f} steps/s one at a time, {many:.0f} steps/s {slots} at once")
    DBOS.destroy()


main()
