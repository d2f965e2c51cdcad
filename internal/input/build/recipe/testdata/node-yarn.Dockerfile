# nodejs iron in .
# Written by Tend: package.json says so.
FROM node:iron-alpine
WORKDIR /app
ENV COREPACK_HOME=/opt/corepack COREPACK_ENABLE_DOWNLOAD_PROMPT=0
RUN npm install --global corepack && corepack enable && mkdir -p /opt/corepack && chown node /app /opt/corepack
USER node
ENV NODE_ENV=production
COPY --chown=node:node package.json yarn.lock ./
RUN yarn install --frozen-lockfile --production=false
COPY --chown=node:node . .
CMD ["yarn","run","start"]
