"""Gunicorn's settings, the same on a laptop and in a container; only the address differs.

Used as `gunicorn -c python:pipeline.gunicorn --bind ADDRESS pipeline.wsgi`.
"""

from pipeline import env

worker_class = "gthread"
workers = 2
threads = 4

timeout = 30  # seconds a worker may be silent before it is replaced
graceful_timeout = 8  # seconds that requests have to end when the server stops
keepalive = 5

accesslog = None  # the application logs requests itself, with their ids
errorlog = "-"
loglevel = env.LOG_LEVEL.lower()

# It would live under one name in the home directory, shared by every gunicorn of this user.
control_socket_disable = True
