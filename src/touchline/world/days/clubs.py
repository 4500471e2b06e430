"""The clubs that play: all invented, in leagues that exist. National teams are those of real countries.

A line: id, name, code, city, venue, founded, shirt, shorts, and what people call it.
"""

from __future__ import annotations

from touchline.world.videos.model import Colour

COLOURS: dict[str, Colour] = {
    "red": (200, 16, 46),
    "blue": (20, 70, 190),
    "navy": (12, 24, 70),
    "sky": (110, 180, 230),
    "white": (245, 245, 245),
    "black": (20, 20, 22),
    "grey": (150, 152, 158),
    "yellow": (250, 210, 20),
    "green": (10, 120, 60),
    "orange": (240, 110, 20),
    "claret": (110, 20, 50),
    "purple": (90, 30, 140),
    "amber": (245, 165, 20),
    "mint": (90, 200, 160),
    "pink": (235, 140, 170),
    "brown": (110, 70, 40),
}
LEAGUES = (
    (39, "Premier League", "England"),
    (140, "La Liga", "Spain"),
    (78, "Bundesliga", "Germany"),
    (135, "Serie A", "Italy"),
    (61, "Ligue 1", "France"),
    (10, "Friendlies", "World"),
)
NATIONAL = 10

CLUBS = {
    39: """
70101 | Harrowmere Rovers | HAR | Harrowmere | Mill Lane | 1884 | red | white | Rovers, HRFC, Millers
70102 | Kingsfold City | KIN | Kingsfold | Castle Park | 1891 | sky | white | City, Citizens, KCFC
70103 | Stowbridge United | STU | Stowbridge | The Locks | 1878 | claret | sky | SUFC, Utd, Bargemen
70104 | Ashcombe Albion | ASH | Ashcombe | Weavers Road | 1899 | blue | blue | Albion, Seagulls, AAFC
70105 | Dunmoor Athletic | DUN | Dunmoor | Peat Street | 1902 | amber | black | Athletic, Latics, DAFC
70106 | Port Ellery | PEL | Port Ellery | Harbour Ground | 1888 | navy | white | Ellery, Dockers, PEFC
70107 | Wexley Wanderers | WEX | Wexley | Foundry End | 1877 | orange | black | Wanderers, WWFC, Foxes
70108 | Northgate Forest | NOR | Northgate | Elm Ground | 1865 | green | white | Forest, NGFC, Garibaldis
""",
    140: """
70201 | Atlético Ribera | ATR | Ribera del Sol | Campo del Río | 1909 | red | blue | Atleti, Ribereños, ATR
70202 | Real Montaraz | RMO | Montaraz | Nuevo Encinar | 1905 | white | white | Montaraz, Merengues, RMCF
70203 | CD Puerto Viejo | CPV | Puerto Viejo | El Muelle | 1922 | yellow | blue | Puerto, Submarino, CDPV
70204 | UD Almenara | UDA | Almenara | La Torre | 1934 | green | white | Almenara, Torreros, UDA
70205 | Sporting Cantabral | SPC | Cantabral | Los Prados | 1911 | green | black | Sporting, Cantabral, Racing
70206 | Celta de Oruña | CEO | Oruña | Balcón del Mar | 1919 | sky | white | Celta, Celestes, Oruña
70207 | RCD Peñablanca | RCP | Peñablanca | Son Peña | 1916 | purple | white | Peñablanca, RCDP, Bermellones
""",
    78: """
70301 | SV Grünwalde | SVG | Grünwalde | Waldstadion | 1907 | green | white | Grünwalde, SVG, Waldkicker
70302 | Borussia Eisenach-Süd | BES | Eisenach | Hammerpark | 1909 | yellow | black | Borussia, BES, Hämmer
70303 | FC Rheinhafen 04 | RHE | Rheinhafen | Kranstadion | 1904 | blue | white | Rheinhafen, FCR, Knappen
70304 | TSG Weißenfels | TSG | Weißenfels | Schlossarena | 1899 | white | black | Weißenfels, TSG, Schwäne
70305 | Eintracht Löwenburg | ELO | Löwenburg | Löwenarena | 1900 | red | black | Eintracht, Löwen, SGE04
70306 | VfB Ostertal | VFB | Ostertal | Neckarkurve | 1893 | white | red | Ostertal, VfB, Schwaben
70307 | 1. FC Brückstadt | FCB | Brückstadt | Dombogen | 1912 | claret | claret | Brückstadt, Effzeh, FCB
""",
    135: """
70401 | AC Valdoro | VAL | Valdoro | Stadio delle Vigne | 1908 | claret | white | Valdoro, Vignaioli, ACV
70402 | Internapoli 1926 | INT | Internapoli | San Gennaro | 1926 | sky | white | Internapoli, Partenopei, INP
70403 | Juventina Calcio | JUV | Torrechiara | Stadio Alpino | 1897 | black | white | Juventina, Zebre, JUVC
70404 | US Lagoscuro | LAG | Lagoscuro | Riva Nera | 1913 | navy | black | Lagoscuro, Pescatori, USL
70405 | Fiorana | FIO | Fiorana | Campo dei Gigli | 1926 | purple | purple | Fiorana, Viola, Gigliati
70406 | Romagnola Calcio | ROM | Romagnola | Stadio dei Mosaici | 1921 | yellow | red | Romagnola, Lupi, ROMC
70407 | Sampiero | SAM | Sampiero | Lanterna | 1946 | blue | white | Sampiero, Blucerchiati, UCS
""",
    61: """
70501 | Olympique Saint-Aubin | OSA | Saint-Aubin | Vélodrome du Port | 1899 | white | sky | OSA, Phocéens, Aubin
70502 | Racing Belcourt | RBC | Belcourt | Parc des Tilleuls | 1904 | sky | white | Racing, Belcourt, RBC
70503 | AS Montferrand-les-Bains | ASM | Montferrand | Stade Thermal | 1924 | red | white | Montferrand, ASM, Thermaux
70504 | FC Landeronne | FCL | Landeronne | La Beaujoire Verte | 1943 | yellow | green | Landeronne, Canaris, FCL
70505 | Stade Clairvaux | STC | Clairvaux | Auguste-Morel | 1910 | red | red | Clairvaux, Rémois, SDC
70506 | LOSC Hautmont | LOH | Hautmont | Pierre-Blanche | 1944 | claret | navy | Hautmont, Dogues, LOSC
70507 | OGC Villefranque | OGV | Villefranque | Baie des Anges | 1904 | black | red | Villefranque, Aiglons, OGCV
""",
    10: """
10 | England | ENG | London | National Stadium | 1863 | white | navy | England, English, ThreeLions
2 | France | FRA | Saint-Denis | Grand Stade | 1919 | blue | white | France, French, Bleus
9 | Spain | ESP | Madrid | Estadio Nacional | 1909 | red | blue | Spain, Spanish, España
25 | Germany | GER | Berlin | Nationalstadion | 1900 | white | black | Germany, German, Mannschaft
6 | Brazil | BRA | Rio de Janeiro | Estádio Nacional | 1914 | yellow | blue | Brazil, Brazilian, Seleção
21 | Denmark | DEN | Copenhagen | Parken Nord | 1889 | red | white | Denmark, Danish, Danmark
24 | Poland | POL | Warsaw | Stadion Orła | 1919 | white | red | Poland, Polish, Polska
1500 | Mali | MLI | Bamako | Stade du Fleuve | 1960 | yellow | green | Mali, Malian, Aigles
""",
}
