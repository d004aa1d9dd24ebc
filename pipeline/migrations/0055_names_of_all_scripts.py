"""Name search in more scripts, in databases of any locale, and within brackets and quotes."""

import unicodedata
from importlib import import_module

from django.db import migrations

earlier = import_module("pipeline.migrations.0039_folded_names")

# Where the locale of the database knows only English letters, `lower` leaves these: the capitals of
# Latin, Greek, Cyrillic and Armenian that are no letter with an accent.
CAPITALS = "".join(
    letter
    for letter in map(chr, [*range(0xC0, 0x250), *range(0x370, 0x557)])
    if len(letter.lower()) == 1 and letter.lower() != letter == unicodedata.normalize("NFKD", letter)
)

# Arrays, since the planner expects few elements of them: for a thousand rows of each word it would
# prepare a large hash table for every name. Most names are plain ASCII, so they take the short way. Of the others go: accents and vowel signs
# above and below, apostrophes, joiners, marks of direction, and what only stretches a word. Letters
# without a decomposition follow, and Arabic ones that keyboards of two languages write differently.
FOLDED = r"""
CREATE OR REPLACE FUNCTION pipeline_folded(text text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
    SELECT CASE WHEN text !~ '[^\x01-\x7f]' THEN translate(lower(text), 'ı''`', 'i')
    ELSE normalize(
        replace(replace(replace(replace(replace(
            translate(
                regexp_replace(
                    CASE WHEN lower('Ж') = 'ж'
                        THEN lower(normalize(replace(text, '´', ''), NFKD))
                        ELSE translate(
                            lower(normalize(replace(text, '´', ''), NFKD)), '%(capitals)s', '%(small)s'
                        ) END,
                    '[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u05f3\u05f4\u0610-\u061a\u061c'
                    '\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u00ad\u00b7\u02b9-\u02bf\u1ab0-\u1aff\u1dc0-\u1dff'
                    '\u200b-\u200f\u2018\u2019\u201b\u202a-\u202e\u2032\u2060-\u2069\u20d0-\u20f0'
                    '\ufe00-\ufe0f\ufe20-\ufe2f\ufeff''`]',
                    '', 'g'
                ),
                'øłđħıςŋŧəɓɗƙƴیىکەہةٱ', 'oldhiσntebdkyييكههها'
            ),
            'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), 'ð', 'd'),
        NFC
    ) END
$$;

CREATE OR REPLACE FUNCTION pipeline_words(name text) RETURNS SETOF text IMMUTABLE LANGUAGE sql AS $$
    SELECT DISTINCT part
    FROM unnest(regexp_split_to_array(
             pipeline_folded(name), '[\s\u05be\u2010-\u2015\u30fb()\[\]{}"“”„«»,;/-]+'
         )) word,
         unnest(CASE
             WHEN word ~ '[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]'
             THEN ARRAY(
                 SELECT substr(word, start) FROM generate_series(1, least(length(word), 20)) start
             )
             ELSE ARRAY[word]
         END) part
    WHERE word <> ''
$$;
""" % {"capitals": CAPITALS, "small": CAPITALS.lower()}

# Only the words of names that the new rule may read differently are looked at again. Until the end
# of the transaction, searches and applications go on; changes of names and erasures wait.
AGAIN = r"""
SELECT pg_advisory_xact_lock(pipeline_names_turn());
WITH told AS MATERIALIZED (
    SELECT person.id, job.company_id, person.name || ' ' || coalesce(given.searched, '') AS text
    FROM pipeline_application person JOIN jobs_job job ON job.id = person.job_id
    LEFT JOIN pipeline_givenanswers given ON given.application_id = person.id
    WHERE person.name || coalesce(given.searched, '') ~ '[^\x01-\x7f]|[][(){}",;/]'
), wanted AS MATERIALIZED (
    SELECT told.company_id, word COLLATE "C" AS word, told.id FROM told, pipeline_words(told.text) word
), removed AS (
    DELETE FROM pipeline_nameword known USING told
    WHERE known.application_id = told.id AND NOT EXISTS (
        SELECT FROM wanted WHERE wanted.id = known.application_id AND wanted.word = known.word)
)
INSERT INTO pipeline_nameword (company_id, word, application_id)
SELECT company_id, word, id FROM wanted WHERE NOT EXISTS (
    SELECT FROM pipeline_nameword known
    WHERE known.application_id = wanted.id AND known.word = wanted.word);
"""
EARLIER = earlier.FOLDED.partition("SELECT pg_advisory_xact_lock")[0].replace(
    "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"
)


class Migration(migrations.Migration):
    dependencies = [("pipeline", '0054_sign_on')]

    operations = [migrations.RunSQL(FOLDED + AGAIN, EARLIER + AGAIN)]
