// Package servers starts real REST servers for end-to-end tests and the demo: Gitea, RabbitMQ, LXD, PocketBase,
// Alertmanager, PowerDNS and Toxiproxy, each with its data in a folder of its own, on free ports of 127.0.0.1, and not as root
// (but LXD, which has to be). A test gets an address and credentials, and Stop leaves nothing running. The operator
// itself must not import it.
package servers
