// Package operator puts the operator together and runs it: clients, caches, the engine, the controllers, health and
// metrics. It is wiring: what is decided, is decided elsewhere. Command operator and the tests run it.
package operator
