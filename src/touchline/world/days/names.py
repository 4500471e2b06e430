"""The names that people have here: invented combinations, in the shapes that break software."""

from __future__ import annotations

GIVEN = {
    "England": "Jack Harry Callum Reece Tyrone Marcus Lewis Ollie Kieran Dominic Jude Mason Nathaniel Theo",
    "Spain": "Álvaro Íñigo Sergio Nico Jesús Martín Unai Óscar Iker Raúl Adrià Gonzalo Mikel Héctor",
    "Germany": "Jörg Lukas Maximilian Götz Felix Jannik Niklas Björn Kai Sebastian Timo Käthe-Luca Emre Jonas",
    "Italy": "Niccolò Matteo Federico Gianluca Andrea Domenico Leonardo Riccardo Mattia Davide Sandro Nicolò",
    "France": "Éloi Théo Loïc Jean-Clair Moussa Bafodé Hugo Aurélien Kévin Mathéo Rémy Amine Benoît Yacine",
    "Denmark": "Søren Mads Rasmus Jørgen Mikkel Emil Kasper Viktor Asger Øyvind Jesper Magnus",
    "Poland": "Łukasz Michał Paweł Wojciech Jakub Krzysztof Tomasz Mateusz Bartłomiej Kamil Przemysław Szymon",
    "Brazil": "João Thiago Caíque Luís Vinícius Edílson Márcio Wesley Éverton Antônio Gustavo Renan",
    "Mali": "Amadou Boubacar Sékou Moussa Cheick Yves Oumar Adama Lassana Mamadou Ibrahima Souleymane",
}
FAMILY = {
    "England": "Hargreave Pickersgill Ashdown O'Shaughnessy Blackwood Tunstall Adeyemi Whitlock Fairweather Okonjo "
    "Smith-Rowell Penhaligon Bramall Crossley Adams Thistlewood Haddon Okafor Radcliffe Quigley",
    "Spain": "Núñez Ibáñez Echeverría Muñoz Peñalver Zubizarra Cañete Aguirregomezcorta Ordóñez Villaseñor Garay "
    "Bermúdez Quiñones Yáñez Solórzano Ureña Lasarte Gálvez Peña Arrizabal",
    "Germany": "Weiß Großmann Müllender Strößner Schäffler Böckmann Hübscher Jäger-Lüth Vogelsang Adler Fußeder "
    "Österreich Krämpf Süßmilch Brüggemann Straußberg Löhner Eßwein Tölke Radermacher",
    "Italy": "D'Ambrosini Dell'Acqua Bellucci Adani Sant'Agata Marchegiani Cavalcanti Nicolò Rossigni Farò Zappalà "
    "Locatello Pellegatti Bonaventuri Colò Quagliarini Tonellato Perinù Bastianelli Ghirardò",
    "France": "N'Guémo Lefèvre Béraud Dembouya Saint-Maxent Évrard Lœuillet Traorélin Cissokho Peñarroya Hérault "
    "Mbappérin Rançon Aît-Kaci Dubœuf Koundéla Fekirat Thuramel Lacroisière Maïga",
    "Denmark": "Sørensen Kjærgaard Højlandt Nørgård Skov-Ålborg Bødker Thøgersen Ærø Lindstrøm Damsgaarden Bruun "
    "Vestergård Møller-Dæhli Østergård Krogh Friis",
    "Poland": "Świątkowski Błaszczyk Żółkiewski Łapiński Grzęda Szczęśniak Wójcicki Piątkowski Gołębiewski Źrebiec "
    "Król Dąbek Sadło Kowalewski Ćwiąkała Małecki",
    "Brazil": "Conceição Gonçalves Araújo Magalhães Assunção Brandão Falcão Simão Patrício Leitão Guimarães Sá "
    "Rebouças Ávila Frazão Camargo",
    "Mali": "Traoré Coulibaly Keïta Diarra Sissoko Doumbia Konaté Haïdara Sangaré Koné Dembélé Touré Bissouma Camara "
    "Kanouté Maïga",
}
ABROAD = ("Denmark", "Poland", "Brazil", "Mali")  # where clubs find the others

# By club: players that every day must be able to meet. One word, very long, initials alone, names inside names.
KNOWN: dict[int, tuple[str, ...]] = {
    70101: ("Mads Sørensen", "Karim Adeyemi-Cole", "Zezinho"),
    70102: ("Jonas Sørensen", "Tyrone Adams", "T. J. O'Connell-Drăgulescu"),
    70103: ("Đorđe Đukić", "Marcus Silva"),
    70104: ("Lukas Großschmidt", "Bruno Silva"),
    70105: ("Łukasz Wałęśniak", "Adrian Ad"),
    70106: ("Øystein Bjørnstad", "Son Min-jae"),
    70107: ("Xhemajl Ç. Hoxha", "Rodrygo"),
    70108: ("Nuno", "Jean-Philippe van der Westhuizen-Papadimitropoulos"),
    70201: ("Koke", "Íñigo Aguirregomezcorta"),
    70202: ("Vinícius Gonçalves", "Ñandú"),
    70203: ("Mohamed-Ali Ben Yedder", "José Luis Núñez"),
    70204: ("Pau", "Unai Núñez"),
    70301: ("Jörg Weiß", "Ümit Öztürkoğlu"),
    70302: ("Karim Adeyemi", "Niklas Süßmilch"),
    70303: ("Emre Çalhan", "Felix Weiß"),
    70305: ("Jean-Mattéo Bahoyane", "Đuro Bašić"),
    70401: ("Niccolò D'Ambrosini", "Mattia Rossi"),
    70402: ("Khvicha Kvaratskhelidze", "Paolo Rossi"),
    70403: ("Dušan Vlahovský", "Gleisson"),
    70501: ("Pierre-Emerick N'Guémo", "Amine Harîtî"),
    70502: ("Ángel di Mariano", "Loïc Béraud"),
    70503: ("Théo Béraud", "Wissam Ben-Youssef"),
    21: ("Rasmus Højlandt", "Mikkel Damsgaarden"),
    24: ("Łukasz Świątkowski", "Wojciech Szczęśniak"),
    6: ("Endrick", "Éverton Conceição"),
    1500: ("Boubacar Traoré", "Lassana Coulibaly"),
}
