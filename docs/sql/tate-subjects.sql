-- Tate's artworks become subjects, one document for each at the lowest of three levels, with the works that show it.
WITH roots AS (SELECT id, unnest(subjects['children']) AS subject FROM input),
second AS (SELECT id, subject['name'] AS upper_name, unnest(subject['children']) AS subject FROM roots),
third AS (SELECT id, upper_name, subject['name'] AS middle_name, unnest(subject['children']) AS subject FROM second)
SELECT
  subject['id'] AS id,
  min(subject['name']) AS name,
  [min(upper_name), min(middle_name)] AS path,
  count(DISTINCT id) AS works_count,
  array_agg(DISTINCT id ORDER BY id) AS works
FROM third
WHERE subject['id'] IS NOT NULL
GROUP BY subject['id']
ORDER BY id
