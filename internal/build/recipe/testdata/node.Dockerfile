# nodejs 20 in .
# Written by Tend: package.json says so.
FROM node:20-alpine
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --include=dev
COPY . .
RUN npm run build
CMD ["npm","start"]
