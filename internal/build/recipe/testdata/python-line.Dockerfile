# python 3.11 in .
# Written by Tend: pyproject.toml says so.
FROM python:3.11-slim
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1
WORKDIR /app
COPY . .
RUN pip install .
CMD ["/bin/sh","-c","gunicorn app:app --bind 0.0.0.0:8000"]
