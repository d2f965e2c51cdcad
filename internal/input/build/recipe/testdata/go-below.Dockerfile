# go 1.25 in services/api
# Written by Tend: services/api/go.mod says so.
FROM golang:1.25-alpine AS build
WORKDIR /src
COPY services/api/go.mod ./
RUN go mod download
COPY services/api .
RUN CGO_ENABLED=0 go build -trimpath -o /out/app .

FROM alpine:3
RUN apk add --no-cache ca-certificates tzdata
COPY --from=build /out/app /app
USER nobody
ENTRYPOINT ["/app"]
