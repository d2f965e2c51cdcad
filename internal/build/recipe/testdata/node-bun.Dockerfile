# nodejs  in .
# Written by Tend: package.json says so.
FROM oven/bun:1
ENV NODE_ENV=production
WORKDIR /app
COPY package.json bun.lock ./
RUN bun install --frozen-lockfile
COPY . .
CMD ["bun","server.ts"]
