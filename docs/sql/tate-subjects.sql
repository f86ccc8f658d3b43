-- Tate's artworks become subjects, one document for each at the lowest of three levels, with the works that show it.
WITH first AS (SELECT id, unnest(subjects['children']) AS subject FROM input),
second AS (SELECT id, subject['name'] AS top, unnest(subject['children']) AS subject FROM first),
third AS (SELECT id, top, subject['name'] AS middle, unnest(subject['children']) AS subject FROM second)
SELECT
  subject['id'] AS id,
  min(subject['name']) AS name,
  [min(top), min(middle)] AS path,
  count(DISTINCT id) AS works_count,
  array_agg(DISTINCT id ORDER BY id) AS works
FROM third
WHERE subject['id'] IS NOT NULL
GROUP BY subject['id']
ORDER BY id
