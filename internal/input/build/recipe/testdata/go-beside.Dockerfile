# go  in api
# Written by Tend: api/go.mod says so.
FROM golang:1-alpine AS build
WORKDIR /src
COPY . .
WORKDIR /src/api
RUN CGO_ENABLED=0 go build -trimpath -o /out/app .

FROM alpine:3
RUN apk add --no-cache ca-certificates tzdata
COPY --from=build /out/app /app
USER nobody
ENTRYPOINT ["/app"]
