"""What the people of a country are called in English: the one kind of word that is right although nobody offered it."""

from __future__ import annotations

from touchline.watch.words import tokens

_LIST = """
Albania Albanian | Algeria Algerian | Angola Angolan | Argentina Argentine Argentinian | Armenia Armenian
Australia Australian | Austria Austrian | Azerbaijan Azerbaijani | Belarus Belarusian | Belgium Belgian
Benin Beninese | Bolivia Bolivian | Bosnia Bosnian | Brazil Brazilian | Bulgaria Bulgarian
Burkina-Faso Burkinabe | Cameroon Cameroonian | Canada Canadian | Cape-Verde Cape-Verdean | Chile Chilean
China Chinese | Colombia Colombian | Congo Congolese | Congo-DR Congolese | Costa-Rica Costa-Rican
Croatia Croatian Croat | Cuba Cuban | Cyprus Cypriot | Czech-Republic Czech | Czechia Czech | DR-Congo Congolese
Denmark Danish | Ecuador Ecuadorian | Egypt Egyptian | El-Salvador Salvadoran | England English
Estonia Estonian | Ethiopia Ethiopian | Finland Finnish | France French | Gabon Gabonese | Gambia Gambian
Georgia Georgian | Germany German | Ghana Ghanaian | Greece Greek | Guatemala Guatemalan | Guinea Guinean
Haiti Haitian | Honduras Honduran | Hungary Hungarian | Iceland Icelandic | India Indian | Indonesia Indonesian
Iran Iranian | Iraq Iraqi | Ireland Irish | Israel Israeli | Italy Italian | Ivory-Coast Ivorian
Jamaica Jamaican | Japan Japanese | Jordan Jordanian | Kazakhstan Kazakh | Kenya Kenyan | Korea-Republic Korean
Kosovo Kosovan | Kuwait Kuwaiti | Latvia Latvian | Lebanon Lebanese | Libya Libyan | Lithuania Lithuanian
Luxembourg Luxembourgish | Mali Malian | Malta Maltese | Mauritania Mauritanian | Mexico Mexican
Moldova Moldovan | Montenegro Montenegrin | Morocco Moroccan | Mozambique Mozambican | Namibia Namibian
Netherlands Dutch | New-Zealand Kiwi | Niger Nigerien | Nigeria Nigerian | North-Macedonia Macedonian
Northern-Ireland Irish | Norway Norwegian | Oman Omani | Panama Panamanian | Paraguay Paraguayan | Peru Peruvian
Poland Polish | Portugal Portuguese | Qatar Qatari | Republic-of-Ireland Irish | Romania Romanian
Russia Russian | Saudi-Arabia Saudi | Scotland Scottish | Senegal Senegalese | Serbia Serbian
Sierra-Leone Sierra-Leonean | Slovakia Slovak | Slovenia Slovenian Slovene | South-Africa South-African
South-Korea Korean | Spain Spanish | Sudan Sudanese | Sweden Swedish | Switzerland Swiss | Syria Syrian
Tanzania Tanzanian | Togo Togolese | Tunisia Tunisian | Turkey Turkish | Turkiye Turkish | USA American
Uganda Ugandan | Ukraine Ukrainian | United-States American | Uruguay Uruguayan | Uzbekistan Uzbek
Venezuela Venezuelan | Vietnam Vietnamese | Wales Welsh | Zambia Zambian | Zimbabwe Zimbabwean
"""
ENDINGS = ("an", "ian", "ish", "ese", "i", "ic", "ch", "nian", "ne", "er", "ois")
SHARED_LETTERS = 3


def _read() -> dict[tuple[str, ...], tuple[str, ...]]:
    lines = (line.split() for part in _LIST.splitlines() for line in part.split("|") if line.strip())
    return {tokens(country): tuple(people) for country, *people in lines}


NATIONALITIES = _read()


def nationalities_of(country: str) -> tuple[str, ...]:
    """The usual one first; nothing for a country that is not in the list."""
    return NATIONALITIES.get(tokens(country), ())


def is_nationality(word: str, country: str) -> bool:
    """Whether a word that nobody offered can be let through for this country."""
    written, named = tokens(word), tokens(country)
    if len(written) != 1 or not named:
        return False
    if known := nationalities_of(country):
        return written[0] in {part for people in known for part in tokens(people)}
    begins = written[0][:SHARED_LETTERS] == named[-1][:SHARED_LETTERS]
    return begins and written[0] != named[-1] and written[0].endswith(ENDINGS)
