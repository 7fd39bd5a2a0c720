-- Format 3: the index of words also knows in which blocks of positions a node is, of ten sizes, and whose it is, so that any
-- range of positions is named by few terms. `words.rs` asks for it by the same expression.

DROP INDEX nodes_by_term;
CREATE INDEX nodes_by_term ON nodes USING gin ((terms || replace(
    '''@#13:' || (position >> 13)::text || ''' ''@#14:' || (position >> 14)::text
        || ''' ''@#15:' || (position >> 15)::text || ''' ''@#16:' || (position >> 16)::text
        || ''' ''@#17:' || (position >> 17)::text || ''' ''@#18:' || (position >> 18)::text
        || ''' ''@#19:' || (position >> 19)::text || ''' ''@#20:' || (position >> 20)::text
        || ''' ''@#21:' || (position >> 21)::text || ''' ''@#22:' || (position >> 22)::text || '''',
    '@', coalesce(substring(terms::text FROM '@[0-9a-f]{16}'), '@')
)::tsvector));
