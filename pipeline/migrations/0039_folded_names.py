"""Name search without accents, apostrophes and joiners, and within Chinese and Japanese names."""

from django.db import migrations

# The letters that have no decomposition, and both sigmas.
FOLDED = r"""
CREATE FUNCTION pipeline_folded(text text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
    SELECT normalize(
        replace(replace(replace(replace(replace(
            translate(
                regexp_replace(
                    lower(normalize(text, NFKD)),
                    '[\u0300-\u036f\u064b-\u065f\u0670\u0640\u00ad\u200b-\u200f\u2060\ufeff''`\u2019\u2018\u02bc\u02bb]',
                    '', 'g'
                ),
                'øłđħıς', 'oldhiσ'
            ),
            'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), 'ð', 'd'),
        NFC
    )
$$;

CREATE OR REPLACE FUNCTION pipeline_words(name text) RETURNS SETOF text IMMUTABLE LANGUAGE sql AS $$
    SELECT DISTINCT CASE WHEN start = 1 THEN word ELSE substr(word, start) END
    FROM regexp_split_to_table(pipeline_folded(name), '[\s\u2010-\u2015\u30fb-]+') word,
         generate_series(1, CASE
             WHEN word ~ '[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]' THEN least(length(word), 20)
             ELSE 1
         END) start
    WHERE word <> ''
$$;

SELECT pg_advisory_xact_lock(pipeline_names_turn());
DELETE FROM pipeline_nameword;
INSERT INTO pipeline_nameword (company_id, word, application_id)
SELECT job.company_id, word, told.id
FROM pipeline_application told JOIN jobs_job job ON job.id = told.job_id,
     pipeline_words(told.name) word;
"""
AS_TYPED = r"""
CREATE OR REPLACE FUNCTION pipeline_words(name text) RETURNS SETOF text IMMUTABLE LANGUAGE sql AS $$
    SELECT DISTINCT word FROM regexp_split_to_table(lower(name), '\s+') word WHERE word <> ''
$$;
DROP FUNCTION pipeline_folded(text);

SELECT pg_advisory_xact_lock(pipeline_names_turn());
DELETE FROM pipeline_nameword;
INSERT INTO pipeline_nameword (company_id, word, application_id)
SELECT job.company_id, word, told.id
FROM pipeline_application told JOIN jobs_job job ON job.id = told.job_id,
     pipeline_words(told.name) word;
"""


class Migration(migrations.Migration):
    dependencies = [("pipeline", "0038_changes")]

    # In one transaction: searches and applications go on meanwhile, with the old words.
    operations = [migrations.RunSQL(FOLDED, AS_TYPED)]
