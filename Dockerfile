# docs/service.md says how to use it.
FROM python:3.12-slim
# The user, by number, that the agent's files belong to.
ARG OWNER=1000
ENV HOST=0.0.0.0 PORT=8000 HOME=/data PALIMPSEST_DATA_DIR=/data PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN install -d -m 700 -o $OWNER /data
WORKDIR /palimpsest
COPY requirements.txt .
RUN pip install -r requirements.txt
COPY . .
RUN pip install --no-deps .
USER $OWNER:$OWNER
VOLUME /data
EXPOSE 8000
HEALTHCHECK --start-period=60s --timeout=10s CMD ["python", "-c", \
    "import os, urllib.request as to; to.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/api/v1/health')"]
CMD ["palimpsest"]
