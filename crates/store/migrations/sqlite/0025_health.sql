-- Rows that this version cannot decode, and content that is damaged. Claims leave them alone.
CREATE TABLE quarantined_rows (
    table_name TEXT NOT NULL,
    row_key TEXT NOT NULL,
    reason TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    PRIMARY KEY (table_name, row_key)
);

-- Written over and over to find out whether the database can be written.
CREATE TABLE write_probe (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    checked_at INTEGER NOT NULL,
    padding BLOB NOT NULL
);
INSERT INTO write_probe VALUES (1, cynode_now(), x'');
