-- From a text to the words that are compared. process/text.py does the same, letter for letter: a test compares.

-- A normalized word without accents, and with one letter for those that readers of pictures confuse: I l 1, O 0.
CREATE FUNCTION process.search_fold(word text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN translate(
  CASE WHEN word ~ '^[a-z0-9]*$' THEN word ELSE normalize(regexp_replace(
    normalize(replace(replace(replace(translate(word, 'øłđðı', 'olddi'), 'þ', 'th'), 'æ', 'ae'), 'œ', 'oe'), NFKD),
    '[\u0300-\u036F\u0483-\u0487\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0610-\u061A\u064B-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E4\u06E7\u06E8\u06EA-\u06ED\u0711\u0730-\u074A\u08CA-\u08FF\u093C\u094D\u09BC\u09CD\u0A3C\u0A4D\u0ABC\u0ACD\u0B3C\u0B4D\u0BCD\u0C4D\u0CBC\u0CCD\u0D4D\u0DCA\u0E38-\u0E3A\u0E48-\u0E4B\u0EB8-\u0EBA\u0EC8-\u0ECB\u1037\u1039\u103A\u17D2\u17DD\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\u302A-\u302F\u3099\u309A\uFE20-\uFE2F]+', '', 'g'), NFKC) END,
  'ilo', '110');

-- Scripts without spaces, and signs, have words of one character; everywhere else words are what lies between signs.
CREATE FUNCTION process.search_split(normalized text, OUT place bigint, OUT shown text, OUT word text) RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT p.place, p.shown, p.word
    FROM (SELECT t.place, left(t.found[1], 64) AS shown, process.search_fold(left(t.found[1], 64)) AS word
            FROM regexp_matches(normalized, '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2190-\u2BFF\u3005-\u3007\u3040-\u30FA\u30FC-\u312F\u31A0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U0001F000-\U0001FAFF\U00020000-\U0003FFFF]|[^\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2190-\u2BFF\u3005-\u3007\u3040-\u30FA\u30FC-\u312F\u31A0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U0001F000-\U0001FAFF\U00020000-\U0003FFFF\u0001-/:-@\[-`{-\u00A9\u00AB-\u00B1\u00B4\u00B6-\u00B8\u00BB\u00BF\u00D7\u00F7\u02C2-\u02C5\u02D2-\u02DF\u037E\u0387\u055A-\u055F\u0589\u058A\u05BE\u05C0\u05C3\u05C6\u05F3\u05F4\u0600-\u060F\u061B-\u061F\u066A-\u066D\u06D4\u06DD\u06DE\u06E9\u0964\u0965\u0970\u10FB\u1360-\u1368\u2000-\u206F\u20A0-\u20CF\u2E00-\u2E7F\u3000-\u3004\u3008-\u3030\u3037-\u303F\u30FB\uE000-\uF8FF\uFD3E\uFD3F\uFE00-\uFE1F\uFE30-\uFE6F\uFEFF\uFFF0-\uFFFF\U000E0000-\U0010FFFF]+', 'g')
                 WITH ORDINALITY AS t (found, place)
           LIMIT 500) AS p
   WHERE p.word <> ''
$$;

-- All that a word becomes when one letter is missing.
CREATE FUNCTION process.search_deletions(word text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT DISTINCT left(word, i - 1) || substr(word, i + 1) FROM generate_series(1, length(word)) AS i);

-- Of one tenant: nobody's words lie near another's. Numbers and short words have no slips.
CREATE FUNCTION process.search_slips(tenant uuid, word text) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN length(word) BETWEEN 4 AND 32 AND word !~ '^(:.*|[0-9]+)$' THEN ARRAY(
  SELECT DISTINCT ('x' || left(md5(tenant::text || left(word, i - 1) || substr(word, i + 1)), 8))::bit(32)::integer
    FROM generate_series(1, length(word) + 1) AS i) END;

-- One letter more, less or other, or two neighbours swapped.
CREATE FUNCTION process.one_slip(one text, other text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE length(one) - length(other)
  WHEN 1 THEN other = ANY (process.search_deletions(one))
  WHEN -1 THEN one = ANY (process.search_deletions(other))
  WHEN 0 THEN (
    SELECT count(*) <= 1 OR (count(*) = 2 AND max(i) = min(i) + 1
           AND substr(one, min(i), 2) = reverse(substr(other, min(i), 2)))
      FROM generate_series(1, length(one)) AS i
     WHERE substr(one, i, 1) <> substr(other, i, 1))
  ELSE false END;
