// Package httpapi sends one request to one REST endpoint and reports what happened as plain facts: the decoded answer,
// or why there is none and whether the request may have left. It does authentication, TLS, rate and in-flight limits,
// deadlines, size limits and redirects.
//
// One Client serves one endpoint and is shared by everybody who talks to it, so that connections are reused and the
// limits hold for all of them together. It speaks HTTP/1.1 only: there the difference between "nothing was sent" and
// "something may have been sent" is exact, while HTTP/2 re-sends requests after some stream errors by itself.
//
// A request is sent once. A write (POST, PUT, PATCH, DELETE, or any method of a mutating operation) is never sent
// again, neither here nor by net/http, which would repeat a request on a dead connection in three cases: a GET-like
// method without a body, an Idempotency-Key header, and a body that can be rewound. Writes give it none of the three.
// See onceOnly.
//
// A credential that has to be fetched (OAuth2, Session) is held by the client's keeper: one login for all, a token until
// it ends or is refused. A read that is refused for its token is sent once more with a new one, a write is not.
//
// The package must not judge: whether an answer is a success, an absence or worth another try is decided above it. It
// must not know Kubernetes, and no error or message of it may hold a secret, a query string or a body.
package httpapi
