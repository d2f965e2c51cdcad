# python 3.12.4 in .
# Written by Tend: requirements.txt says so.
FROM python:3.12.4-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev libpq-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY requirements.txt ./
RUN pip install -r requirements.txt
RUN useradd --system --create-home --uid 10001 app && chown app /app
COPY --chown=10001 . .
USER 10001
CMD ["python","app.py"]
