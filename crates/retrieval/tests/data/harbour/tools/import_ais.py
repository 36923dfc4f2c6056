"""Imports positions of vessels from the AIS receiver on the control tower.

The receiver sends one JSON object for each message. Positions older than
three minutes are dropped, because the berth board must not show them.
"""

import json
import sys

# Messages of vessels that are farther away than this are ignored.
MAX_DISTANCE_MILES = 18

# A vessel counts as moored below this speed, in knots.
MOORED_SPEED = 0.3


def read_messages(stream):
    """Yields one message for each line; a line that is not JSON is counted and skipped."""
    skipped = 0
    for line in stream:
        try:
            yield json.loads(line)
        except ValueError:
            skipped += 1
    if skipped:
        print(f"skipped {skipped} lines", file=sys.stderr)


def expected_arrival(distance_miles, speed_knots):
    """Estimates the hours until arrival. The last two miles are sailed at six knots."""
    if speed_knots <= MOORED_SPEED:
        return None
    fast = max(distance_miles - 2, 0)
    return fast / speed_knots + min(distance_miles, 2) / 6


def is_relevant(message, now):
    """Keeps recent messages of vessels within reach of the harbour."""
    return now - message["time"] <= 180 and message["distance"] <= MAX_DISTANCE_MILES
