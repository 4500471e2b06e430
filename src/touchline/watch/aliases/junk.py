"""Words that tell no team from another, in the languages that names come in. Folded, without case."""

from __future__ import annotations

_JUNK = """
fc cf afc club clube clubs football futbol futebol calcio fussball fotball foot soccer association associazione
asociacion sportiva societa societe sport sports sportverein verein fussballverein ballspielverein national nationale
nacional nationalmannschaft fussballnationalmannschaft selection team teams equipe equipo squadra
men mens man women womens woman ladies frauen femenino feminine feminin feminino femminile youth reserves reserve
academy under the of and for in on at de del della delle dei di da do dos das du des der die den dem von van und et la
le les el los las il lo gli al an ev limited ltd plc sa sad spa gmbh inc
"""
# What completes longer names, and is sometimes one by itself.
_AFFIXES = """
sc ac as ss ssc us sv vfb vfl tsg tsv rb ud cd rc rcd ogc sd bsc fk sk nk if bk ff ifk aik kv kaa ec ca cfc sporting
mannschaft seleccion nazionale
"""
# In descriptions of what shares a name with a men's football team.
_OTHER_TEAMS = """
women womens woman ladies female feminine basketball handball futsal volleyball rugby hockey baseball beach esports
youth junior u17 u18 u19 u20 u21 u23 under reserve reserves academy season amateur
"""

JUNK = frozenset(_JUNK.split())
AFFIXES = frozenset(_AFFIXES.split())
OTHER_TEAMS = frozenset(_OTHER_TEAMS.split())
