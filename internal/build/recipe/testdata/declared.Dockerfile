# python 3.13 in .
# Written by Tend: the manifest says so.
FROM python:3.13-slim
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1
WORKDIR /app
COPY . .
CMD ["python","server.py"]
