-- French property sales as geo-dvf publishes them, one document for each sale. Read with --all-strings.
WITH rows AS (
  SELECT
    CAST(date_mutation AS DATE) AS date,
    nature_mutation AS nature,
    CAST(valeur_fonciere AS DOUBLE) AS price,
    numero_disposition AS disposition,
    code_commune AS code,
    upper(nom_commune) AS commune,
    code_postal AS postal_code,
    id_parcelle AS parcel,
    CAST(latitude AS DOUBLE) AS lat,
    CAST(longitude AS DOUBLE) AS lon,
    type_local AS type,
    CAST(surface_reelle_bati AS DOUBLE) AS area,
    CAST(nombre_pieces_principales AS INT) AS rooms,
    [
      named_struct('number', lot1_numero, 'carrez', CAST(lot1_surface_carrez AS DOUBLE)),
      named_struct('number', lot2_numero, 'carrez', CAST(lot2_surface_carrez AS DOUBLE)),
      named_struct('number', lot3_numero, 'carrez', CAST(lot3_surface_carrez AS DOUBLE)),
      named_struct('number', lot4_numero, 'carrez', CAST(lot4_surface_carrez AS DOUBLE)),
      named_struct('number', lot5_numero, 'carrez', CAST(lot5_surface_carrez AS DOUBLE))
    ] AS lots
  FROM input
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
