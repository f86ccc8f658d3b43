-- Tate's artworks become artists, one document for each, with all works.
SELECT
  artist['id'] AS id,
  first_value(artist['fc'] ORDER BY work) AS name,
  first_value(artist['mda'] ORDER BY work) AS sort_name,
  first_value(artist['gender'] ORDER BY work) AS gender,
  first_value(artist['birthYear'] ORDER BY work) AS birth_year,
  count(*) AS works_count,
  array_agg(named_struct('id', work, 'acno', acno, 'title', title, 'role', artist['role']) ORDER BY work, artist['role']) AS works
FROM (SELECT id AS work, acno, title, unnest(contributors) AS artist FROM input)
GROUP BY artist['id']
ORDER BY id
