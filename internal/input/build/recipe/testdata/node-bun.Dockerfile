# nodejs 1.2.3 in .
# Written by Tend: package.json says so.
FROM oven/bun:1.2.3
WORKDIR /app
RUN chown bun /app
USER bun
ENV NODE_ENV=production
COPY --chown=bun:bun package.json bun.lock ./
RUN bun install --frozen-lockfile
COPY --chown=bun:bun . .
CMD ["bun","server.ts"]
