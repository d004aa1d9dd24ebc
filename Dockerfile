# One image for the web server and both workers; the command decides. PostgreSQL runs elsewhere.
FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

RUN useradd --system --uid 10001 --no-create-home --home-dir /nonexistent app
WORKDIR /app

# Wheels only, each with its hash: nothing is compiled here. requirements.txt holds no PostgreSQL.
COPY requirements.txt ./
RUN pip install --no-deps --require-hashes --only-binary :all: -r requirements.txt

COPY manage.py pyproject.toml ./
COPY tasks tasks
COPY jobs jobs
COPY applicants applicants
COPY pipeline pipeline
COPY templates templates
COPY static static
COPY locale locale
RUN python -m compileall -q tasks jobs applicants pipeline

# This also compiles the catalogues in locale/, as each start of a checkout does if they changed.
# Static files get the hash of their content into their names, so that browsers keep them for ever.
# Both values only let the settings load; neither stays in the image.
RUN SECRET_KEY=only-to-collect-static-files-0123456789 DATABASE_URL=postgres://build@localhost/build \
    python manage.py collectstatic --no-input --verbosity 0

# Where docker-compose.yml keeps the logs' anchors and archive, and applicants' files.
RUN install --directory --owner app /anchors /archive /attachments

# docker build --build-arg SOURCE_COMMIT=$(git rev-parse HEAD)
ARG SOURCE_COMMIT=
ENV SOURCE_COMMIT=$SOURCE_COMMIT

USER app
# gunicorn's own conventions: it binds to 0.0.0.0:$PORT and starts $WEB_CONCURRENCY workers.
ENV PORT=8000
EXPOSE 8000
CMD ["gunicorn", "-c", "python:pipeline.server.gunicorn_config", "--worker-tmp-dir", "/dev/shm", "pipeline.asgi"]
