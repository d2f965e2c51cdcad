# nodejs 22.3.0 in .
# Written by Tend: package.json says so.
FROM node:22.3.0-alpine
WORKDIR /app
ENV COREPACK_HOME=/opt/corepack COREPACK_ENABLE_DOWNLOAD_PROMPT=0
RUN npm install --global corepack && corepack enable && mkdir -p /opt/corepack && chown node /app /opt/corepack
USER node
ENV NODE_ENV=production
COPY --chown=node:node package.json pnpm-lock.yaml ./
RUN pnpm install --frozen-lockfile --prod=false
COPY --chown=node:node . .
CMD ["node","dist/server.js"]
