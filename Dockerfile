# The web pages and the workers: one image, the command decides. PostgreSQL is another container.
FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

RUN useradd --system --uid 10001 --no-create-home --home-dir /nonexistent app
WORKDIR /app

# Only wheels, each with its hash: nothing is compiled, and nothing else gets in.
COPY requirements.txt ./
RUN pip install --require-hashes --only-binary :all: -r requirements.txt

COPY manage.py ./
COPY tasks tasks
COPY jobs jobs
COPY applicants applicants
COPY pipeline pipeline
COPY templates templates
COPY static static
RUN python -m compileall -q tasks jobs applicants pipeline

USER app
EXPOSE 8000
CMD ["gunicorn", "-c", "python:pipeline.server.gunicorn_config", "--bind", "0.0.0.0:8000", "--worker-tmp-dir", "/dev/shm", "pipeline.asgi"]
