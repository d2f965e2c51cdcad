# python 3.11 in .
# Written by Tend: pyproject.toml says so.
FROM python:3.11-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev libpq-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /app
RUN useradd --system --create-home --uid 10001 app && chown app /app
COPY --chown=10001 . .
RUN pip install .
USER 10001
CMD ["/bin/sh","-c","gunicorn app:app --bind 0.0.0.0:8000"]
