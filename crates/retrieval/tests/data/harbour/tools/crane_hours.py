"""Adds up the operating hours of the cranes and says what must be serviced.

Reads the CSV export of the crane log: crane, start, end, moves.
"""

import csv
from datetime import datetime

# Operating hours between two services, by crane and part.
INTERVALS = {
    (3, "hoist rope grease"): 150,
    (3, "wheel bearings"): 500,
    (4, "grease reservoir"): 400,
    (7, "hydraulic filter"): 250,
}

# A service is announced when this share of the interval is used.
WARN_AT = 0.9


def hours_by_crane(path):
    """Sums up hours. An entry without an end counts as a full shift of eight hours."""
    totals = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            start = datetime.fromisoformat(row["start"])
            hours = 8.0
            if row["end"]:
                hours = (datetime.fromisoformat(row["end"]) - start).total_seconds() / 3600
            totals[int(row["crane"])] = totals.get(int(row["crane"]), 0.0) + hours
    return totals


def due_services(totals, last_service):
    """Lists parts that are due soon, the most urgent first. Idle cranes are left out after 90 days."""
    due = []
    for (crane, part), interval in INTERVALS.items():
        used = totals.get(crane, 0.0) - last_service.get((crane, part), 0.0)
        if used >= interval * WARN_AT:
            due.append((used / interval, crane, part))
    return sorted(due, reverse=True)
