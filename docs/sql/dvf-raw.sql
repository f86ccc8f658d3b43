-- French property sales as the ministry publishes them (`|`, decimal commas, 31/12/2018, codes in parts), as the same documents
-- as dvf-geo.sql makes. Read with --format csv --separator '|' --all-strings, and --table parcels=FILE with the columns parcel, lat and lon,
-- because coordinates are not published in this form. Numbers such as 13.0, as in some copies, are taken as well.
WITH cells AS (
  SELECT
    to_date("Date mutation", '%d/%m/%Y') AS date,
    "Nature mutation" AS nature,
    CAST(replace("Valeur fonciere", ',', '.') AS DOUBLE) AS price,
    "No disposition" AS disposition,
    lpad("Code departement", 2, '0') || lpad("Code commune", 3, '0') AS code,
    upper("Commune") AS commune,
    lpad(regexp_replace("Code postal", '\.0$', ''), 5, '0') AS postal_code,
    lpad(regexp_replace(coalesce("Prefixe de section", ''), '\.0$', ''), 3, '0')
      || lpad("Section", 2, '0') || lpad("No plan", 4, '0') AS plan,
    "Type local" AS type,
    CAST(replace("Surface reelle bati", ',', '.') AS DOUBLE) AS area,
    CAST(CAST("Nombre pieces principales" AS DOUBLE) AS INT) AS rooms,
    [
      named_struct('number', regexp_replace("1er lot", '\.0$', ''), 'carrez', CAST(replace("Surface Carrez du 1er lot", ',', '.') AS DOUBLE)),
      named_struct('number', regexp_replace("2eme lot", '\.0$', ''), 'carrez', CAST(replace("Surface Carrez du 2eme lot", ',', '.') AS DOUBLE)),
      named_struct('number', regexp_replace("3eme lot", '\.0$', ''), 'carrez', CAST(replace("Surface Carrez du 3eme lot", ',', '.') AS DOUBLE)),
      named_struct('number', regexp_replace("4eme lot", '\.0$', ''), 'carrez', CAST(replace("Surface Carrez du 4eme lot", ',', '.') AS DOUBLE)),
      named_struct('number', regexp_replace("5eme lot", '\.0$', ''), 'carrez', CAST(replace("Surface Carrez du 5eme lot", ',', '.') AS DOUBLE))
    ] AS lots
  FROM input
),
rows AS (
  SELECT cells.*, code || plan AS parcel, parcels.lat AS lat, parcels.lon AS lon
  FROM cells LEFT JOIN parcels ON parcels.parcel = code || plan
),
sales AS (
  SELECT short_hash(date, nature, CAST(round(price * 100) AS BIGINT), code, disposition) AS id, * FROM rows
),
lots AS (
  SELECT id, array_agg(named_struct('parcel', parcel, 'number', lot['number'], 'carrez', lot['carrez'])
    ORDER BY parcel, lot['number'], lot['carrez']) AS lots
  FROM (SELECT id, parcel, unnest(lots) AS lot FROM sales)
  WHERE lot['number'] IS NOT NULL
  GROUP BY id
)
SELECT
  sales.id,
  min(date) AS date,
  min(nature) AS nature,
  min(price) AS price,
  named_struct('code', min(code), 'name', min(commune), 'postal_code', min(postal_code)) AS commune,
  first_value(geo_point(lat, lon) ORDER BY parcel) FILTER (WHERE lat IS NOT NULL) AS location,
  array_agg(DISTINCT parcel ORDER BY parcel) AS parcels,
  array_agg(named_struct('parcel', parcel, 'type', type, 'area', area, 'rooms', rooms)
    ORDER BY parcel, type, area, rooms) FILTER (WHERE type IS NOT NULL) AS premises,
  first_value(lots.lots) AS lots
FROM sales LEFT JOIN lots ON lots.id = sales.id
GROUP BY sales.id
ORDER BY id
