-- Documents that were given to a profile, parted into passages that can be searched.
CREATE TABLE knowledge_documents (
    id TEXT PRIMARY KEY,
    profile_id TEXT NOT NULL REFERENCES profiles (id),
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- Of the content as it was given; decides whether a document is unchanged.
    hash TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    -- person or model.
    author_kind TEXT NOT NULL,
    created_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (profile_id, source, path)
);
CREATE TABLE knowledge_passages (
    id INTEGER PRIMARY KEY,
    profile_id TEXT NOT NULL,
    document_id TEXT NOT NULL REFERENCES knowledge_documents (id),
    ordinal INTEGER NOT NULL,
    heading TEXT NOT NULL,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX knowledge_passages_by_document ON knowledge_passages (document_id);
-- In how many passages of a profile a term occurs.
CREATE TABLE knowledge_terms (
    profile_id TEXT NOT NULL,
    term INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    PRIMARY KEY (profile_id, term)
) WITHOUT ROWID;
CREATE TABLE knowledge_totals (
    profile_id TEXT PRIMARY KEY,
    documents INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    words INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;
-- The passages of each term. A term is a hash of profile and word, so that a list holds passages of one profile.
CREATE VIRTUAL TABLE knowledge_index USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);
