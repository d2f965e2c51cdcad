# nodejs  in .
# Written by Tend: package.json says so.
FROM node:lts-alpine
WORKDIR /app
RUN chown node /app
USER node
ENV NODE_ENV=production
COPY --chown=node:node . .
RUN npm ci --include=dev
CMD ["node","index.js"]
