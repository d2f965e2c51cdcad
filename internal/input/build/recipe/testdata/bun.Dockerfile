# nodejs 1.1 in .
# Written by Tend: package.json says so.
FROM oven/bun:1.1
WORKDIR /app
RUN chown bun /app
USER bun
ENV NODE_ENV=production
COPY --chown=bun:bun package.json ./
RUN bun install
COPY --chown=bun:bun . .
CMD ["bun","index.js"]
