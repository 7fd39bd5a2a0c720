-- Format 2: the index of words also knows whose a node is and in which stretch of positions it stands, in one term, so that
-- the newest hits are found without looking at all of them. `words.rs` asks for it by the same expression.

DROP INDEX nodes_by_term;
CREATE INDEX nodes_by_term ON nodes USING gin ((terms || array_to_tsvector(ARRAY[
    coalesce(substring(terms::text FROM '@[0-9a-f]{16}'), '@') || '#' || (position >> 13)::text
])));
