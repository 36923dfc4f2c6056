-- Schema of the booking database. Times are UTC.

-- One row for each berth. The depth is that at low water, in centimetres.
CREATE TABLE berths (
    code TEXT PRIMARY KEY,
    quay TEXT NOT NULL,
    length_cm INTEGER NOT NULL,
    depth_cm INTEGER NOT NULL
);

-- Vessels are never deleted: a vessel that was scrapped keeps its row, with retired_on set.
CREATE TABLE vessels (
    imo INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    length_cm INTEGER NOT NULL,
    retired_on DATE
);

-- The exclusion constraint is the last guard against double bookings of a berth.
CREATE TABLE bookings (
    id UUID PRIMARY KEY,
    berth TEXT NOT NULL REFERENCES berths (code),
    imo INTEGER NOT NULL REFERENCES vessels (imo),
    stay TSTZRANGE NOT NULL,
    late_entry BOOLEAN NOT NULL DEFAULT false,
    EXCLUDE USING gist (berth WITH =, stay WITH &&)
);

-- Every change of a booking, with the person who made it. Rows older than seven years are moved to the archive.
CREATE TABLE booking_changes (
    booking UUID NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL,
    changed_by TEXT NOT NULL,
    before JSONB,
    after JSONB
);
