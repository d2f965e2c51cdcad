# nodejs  in .
# Written by Tend: package.json says so.
FROM node:lts-alpine
WORKDIR /app
RUN chown node /app
USER node
ENV NODE_ENV=production
COPY --chown=node:node package.json ./
RUN npm install --include=dev
COPY --chown=node:node . .
CMD ["node","index.js"]
