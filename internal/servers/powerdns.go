package servers

import (
	"context"
	"path/filepath"
	"strings"
)

// powerDNSProgram is where Debian and Ubuntu install it.
const powerDNSProgram = "/usr/sbin/pdns_server"

// PowerDNS is a running PowerDNS Authoritative Server. Its owner must call Stop.
type PowerDNS struct {
	*single
	// Key is the credential: the header X-API-Key.
	Key string
}

// StartPowerDNS starts a PowerDNS and returns when its API answers below BaseURL, which ends in /servers/localhost. It answers
// no DNS queries that anybody sends to a usual port. The context bounds the start alone.
func StartPowerDNS(ctx context.Context, options Options) (*PowerDNS, error) {
	const key = "a-key-for-tests"
	s, err := startSingle(ctx, options, singleConfig{
		name: "powerdns", program: powerDNSProgram, ready: "/metrics",
		args: func(dir, address string) []string {
			host, port, _ := strings.Cut(address, ":")
			return []string{
				"--no-config", "--daemon=no", "--guardian=no", "--disable-syslog", "--write-pid=no", "--socket-dir=" + dir,
				"--launch=lmdb", "--lmdb-filename=" + filepath.Join(dir, "zones"), "--lmdb-shards=1",
				// The port of the API is free for TCP; DNS takes the same one at another address of the loopback.
				"--local-address=127.0.0.2", "--local-port=" + port,
				"--api=yes", "--api-key=" + key, "--webserver=yes", "--webserver-address=" + host, "--webserver-port=" + port,
			}
		},
	})
	if err != nil {
		return nil, err
	}
	s.BaseURL += "/api/v1/servers/localhost"
	return &PowerDNS{single: s, Key: key}, nil
}
