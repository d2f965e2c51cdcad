# nodejs 22.3.0 in .
# Written by Tend: package.json says so.
FROM node:22.3.0-alpine
ENV NODE_ENV=production
WORKDIR /app
RUN corepack enable
COPY package.json pnpm-lock.yaml ./
RUN pnpm install --frozen-lockfile --prod=false
COPY . .
CMD ["node","dist/server.js"]
