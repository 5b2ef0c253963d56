# syntax=docker/dockerfile:1
# Parley with the programs that its sandbox and its tools need. docs/deployment.md, Containers, says how to run it.

FROM node:26-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --include=dev --include=optional
RUN npm run build:packages
RUN mkdir archives && npm pack --pack-destination archives ./dist/packages/cli
RUN npm install --global --prefix /opt/parley --no-audit --no-fund ./archives/*.tgz

FROM node:26-bookworm-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git ripgrep \
  && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/parley /opt/parley
RUN install --directory --owner=1000 --group=1000 --mode=0700 /data
# The name by which programs see that they are in a container.
ENV container=docker \
  PATH=/opt/parley/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  PARLEY_HOST=0.0.0.0 \
  PARLEY_PORT=8000 \
  PARLEY_DATA_DIR=/data
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8000/alive').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["parley", "serve"]
