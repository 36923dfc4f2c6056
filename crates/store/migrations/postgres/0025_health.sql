-- Rows that this version cannot decode, and content that is damaged. Claims leave them alone.
CREATE TABLE quarantined_rows (
    table_name text NOT NULL COLLATE "C",
    row_key text NOT NULL COLLATE "C",
    reason text NOT NULL,
    first_seen_at timestamptz NOT NULL,
    PRIMARY KEY (table_name, row_key)
);

-- Written over and over to find out whether the database can be written.
CREATE TABLE write_probe (
    id bigint PRIMARY KEY CHECK (id = 1),
    checked_at timestamptz NOT NULL,
    padding bytea NOT NULL
);
INSERT INTO write_probe VALUES (1, cynode_now(), '');
