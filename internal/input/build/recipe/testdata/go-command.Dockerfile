# go 1.26 in .
# Written by Tend: go.mod says so.
FROM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /out/app ./cmd/web

FROM alpine:3
RUN apk add --no-cache ca-certificates tzdata
COPY --from=build /out/app /app
USER nobody
ENTRYPOINT ["/app"]
