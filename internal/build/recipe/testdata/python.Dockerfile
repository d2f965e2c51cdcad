# python 3.12.4 in .
# Written by Tend: requirements.txt says so.
FROM python:3.12.4-slim
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1
WORKDIR /app
COPY requirements.txt ./
RUN pip install -r requirements.txt
COPY . .
CMD ["python","app.py"]
