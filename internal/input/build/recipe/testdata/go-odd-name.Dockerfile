# go  in my [api] $x*
# Written by Tend: my [api] $x*/go.mod says so.
FROM golang:1-alpine AS build
WORKDIR /src
COPY ["my [[]api] \\$x[*]/go.mod","my [[]api] \\$x[*]/go.sum","./"]
RUN go mod download
COPY ["my [[]api] \\$x[*]","."]
RUN CGO_ENABLED=0 go build -trimpath -o /out/app .

FROM alpine:3
RUN apk add --no-cache ca-certificates tzdata
COPY --from=build /out/app /app
USER nobody
ENTRYPOINT ["/app"]
