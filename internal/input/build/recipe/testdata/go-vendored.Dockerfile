# go  in .
# Written by Tend: go.mod says so.
FROM golang:1-alpine AS build
ARG A
ARG B
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /out/app ./cmd/x

FROM alpine:3
ARG A
ARG B
RUN apk add --no-cache ca-certificates tzdata
COPY --from=build /out/app /app
USER nobody
ENTRYPOINT ["/app"]
