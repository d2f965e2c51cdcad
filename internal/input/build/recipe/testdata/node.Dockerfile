# nodejs 20 in .
# Written by Tend: package.json says so.
FROM node:20-alpine
WORKDIR /app
RUN chown node /app
USER node
ENV NODE_ENV=production
COPY --chown=node:node package.json package-lock.json .npmrc ./
RUN npm ci --include=dev
COPY --chown=node:node . .
RUN npm run build
CMD ["npm","run","start"]
