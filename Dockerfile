# syntax=docker/dockerfile:1

# The operator's image: one static program, run as a user without a name. The program brings the certificates of public authorities.
#   docker build --build-arg VERSION=v0.1.0 --build-arg COMMIT=$(git rev-parse HEAD) -t restmapping-operator .

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src

COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download

COPY api api
COPY cmd cmd
COPY internal internal
COPY pkg pkg

ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG COMMIT=unknown
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -tags grpcnotrace -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o /out/operator ./cmd/operator

FROM scratch
ARG VERSION=dev
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="restmapping-operator" \
      org.opencontainers.image.source="https://github.com/restmapping/operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
COPY --from=build /out/operator /operator
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["/operator"]
