-- Documents that were given to a profile, parted into passages that can be searched.
CREATE TABLE knowledge_documents (
    id uuid PRIMARY KEY,
    profile_id uuid NOT NULL REFERENCES profiles (id),
    source text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    -- Of the content as it was given; decides whether a document is unchanged.
    hash text NOT NULL,
    bytes bigint NOT NULL,
    passages bigint NOT NULL,
    -- person or model.
    author_kind text NOT NULL,
    created_by uuid NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (profile_id, source, path)
);
CREATE TABLE knowledge_passages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    profile_id uuid NOT NULL,
    document_id uuid NOT NULL REFERENCES knowledge_documents (id),
    ordinal bigint NOT NULL,
    heading text NOT NULL,
    first_line bigint NOT NULL,
    last_line bigint NOT NULL,
    text text NOT NULL,
    -- A term is a hash of profile and word, so that a list of the index holds passages of one profile.
    terms tsvector NOT NULL
);
CREATE INDEX knowledge_passages_by_document ON knowledge_passages (document_id);
CREATE INDEX knowledge_passages_by_terms ON knowledge_passages USING gin (terms);
-- In how many passages of a profile a term occurs.
CREATE TABLE knowledge_terms (
    profile_id uuid NOT NULL,
    term bigint NOT NULL,
    passages bigint NOT NULL,
    PRIMARY KEY (profile_id, term)
);
CREATE TABLE knowledge_totals (
    profile_id uuid PRIMARY KEY,
    documents bigint NOT NULL,
    passages bigint NOT NULL,
    words bigint NOT NULL,
    bytes bigint NOT NULL
);
