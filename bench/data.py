#!/usr/bin/env python3
"""Generated rows in the shape of real data, the same ones each time.

    python3 bench/data.py lines 2000000 > lines.ndjson   # log lines, about 131 bytes each
    python3 bench/data.py lines-numbered 2000000   # the same with their number, from 0, in `n`
    python3 bench/data.py lines-csv 2000000 > lines.csv  # the same as columns
    python3 bench/data.py dvf 1000000 > dvf.csv          # French property sales with the 40 columns
    of geo-dvf, about 230 bytes a row
"""

import random
import sys

DVF = (
    "id_mutation,date_mutation,numero_disposition,nature_mutation,valeur_fonciere,adresse_numero,adresse_suffixe,adresse_nom_voie,adresse_code_voie,"
    "code_postal,code_commune,nom_commune,code_departement,ancien_code_commune,ancien_nom_commune,id_parcelle,ancien_id_parcelle,numero_volume,"
    "lot1_numero,lot1_surface_carrez,lot2_numero,lot2_surface_carrez,lot3_numero,lot3_surface_carrez,lot4_numero,lot4_surface_carrez,lot5_numero,"
    "lot5_surface_carrez,nombre_lots,code_type_local,type_local,surface_reelle_bati,nombre_pieces_principales,code_nature_culture,nature_culture,"
    "code_nature_culture_speciale,nature_culture_speciale,surface_terrain,longitude,latitude"
).split(",")
TOWNS = [("64260", "Hendaye", 43.36, -1.77), ("64102", "Bayonne", 43.49, -1.47), ("33063", "Bordeaux", 44.84, -0.58), ("31555", "Toulouse", 43.6, 1.44)]
STREETS = ["RUE DU PORT", "AV DES ALLIES", "BD DE LA MER", "CHE DE SUBERNOA", "RUE VICTOR HUGO", "IMP DES ECOLES", "PL DE LA REPUBLIQUE"]
LOCALS = [("1", "Maison"), ("2", "Appartement"), ("3", "Dépendance"), ("4", "Local industriel. commercial ou assimilé"), ("", "")]


def dvf(dice, n):
    code, town, lat, lon = dice.choice(TOWNS)
    local, title = dice.choice(LOCALS)
    lots = dice.choice([0, 0, 1, 1, 2])
    lot = [cell for k in range(5) for cell in ((str(dice.randrange(1, 400)), f"{dice.uniform(9, 140):.2f}") if k < lots else ("", ""))]
    land = local in ("1", "")
    return [
        f"{2018 + n % 6}-{n // 2}", f"{2018 + n % 6}-{1 + n % 12:02}-{1 + n % 28:02}", "000001", dice.choice(["Vente", "Vente", "Vente", "Echange"]),
        str(dice.randrange(8_000, 900_000)), str(dice.randrange(1, 200)), "", dice.choice(STREETS), f"{dice.randrange(9999):04}", f"{code[:2]}{dice.randrange(999):03}",
        code, town, code[:2], "", "", f"{code}000{dice.choice('ABCD')}{dice.choice('EFGH')}{dice.randrange(9999):04}", "", "", *lot, str(lots), local, title,
        str(dice.randrange(12, 220)) if local else "", str(dice.randrange(1, 8)) if local in ("1", "2") else "", "S" if land else "", "sols" if land else "", "", "",
        str(dice.randrange(40, 3000)) if land else "", f"{lon + dice.uniform(-0.1, 0.1):.6f}", f"{lat + dice.uniform(-0.1, 0.1):.6f}",
    ]


PATHS = ["/images/logo.png", "/index.html", "/api/v1/items", "/search?q=bulk", "/download/file.zip"]


def line(dice, n):
    time = f"2024-{1 + n % 12:02}-{1 + n % 28:02}T{n % 24:02}:{n % 60:02}:{(n // 7) % 60:02}Z"
    address = f"{10 + n % 200}.{dice.randrange(256)}.{dice.randrange(256)}.{dice.randrange(256)}"
    return time, address, f"GET {PATHS[n % 5]} HTTP/1.1", (200, 200, 200, 304, 404)[n % 5], dice.randrange(100, 100_000)


def main():
    made = {"lines": None, "lines-numbered": None, "lines-csv": "timestamp,clientip,request,status,size", "dvf": ",".join(DVF)}
    if len(sys.argv) != 3 or sys.argv[1] not in made:
        raise SystemExit(__doc__)
    dice = random.Random(1)
    if made[sys.argv[1]]:
        print(made[sys.argv[1]])
    for n in range(int(sys.argv[2])):
        if sys.argv[1] == "dvf":
            print(",".join(dvf(dice, n)))
        elif sys.argv[1] == "lines-numbered":
            print('{"n":%d,"@timestamp":"%s","clientip":"%s","request":"%s","status":%d,"size":%d}' % (n, *line(dice, n)))
        elif sys.argv[1] == "lines":
            print('{"@timestamp":"%s","clientip":"%s","request":"%s","status":%d,"size":%d}' % line(dice, n))
        else:
            print("%s,%s,%s,%d,%d" % line(dice, n))


if __name__ == "__main__":
    main()
