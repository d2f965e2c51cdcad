# nodejs  in .
# Written by Tend: package.json says so.
FROM node:lts-alpine
ENV NODE_ENV=production
WORKDIR /app
COPY package.json ./
RUN npm install --include=dev
COPY . .
CMD ["node","index.js"]
