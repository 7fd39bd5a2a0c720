-- Reserves $4 units of a budget of $3 for the period $2.
--
-- A daily budget has the number of its day, and begins at 0 with a later one. An earlier day is none: the row keeps the latest day that
-- it has seen, and `limits.day` the latest day at which rows were removed. A whole day passes before the budget of a turn is forgotten.
INSERT INTO budgets AS known (key, day, until, units, granted, is_new)
SELECT
    $1,
    CASE $2::text WHEN 'day' THEN today ELSE 0 END,
    CASE $2::text WHEN 'day' THEN today + 1 WHEN 'turn' THEN today + 2 END,
    CASE WHEN asked <= most THEN asked ELSE 0 END,
    asked <= most,
    TRUE
FROM (
    SELECT
        GREATEST(floor(extract(epoch FROM clock_timestamp()) / 86400)::bigint, (SELECT day FROM limits)) AS today,
        $3::text::numeric AS most,
        $4::text::numeric AS asked
) AS call
ON CONFLICT (key) DO UPDATE SET (day, until, units, granted, is_new) = (
    SELECT
        GREATEST(known.day, EXCLUDED.day),
        GREATEST(known.until, EXCLUDED.until),
        CASE WHEN used + asked <= most THEN used + asked ELSE used END,
        used + asked <= most,
        FALSE
    FROM (
        SELECT
            CASE WHEN known.day >= EXCLUDED.day THEN known.units ELSE 0 END AS used,
            $3::text::numeric AS most,
            $4::text::numeric AS asked
    ) AS present
)
RETURNING
    day,
    units::text,
    granted,
    is_new,
    ((day + 1) * 86400 - extract(epoch FROM clock_timestamp()))::bigint
