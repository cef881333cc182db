package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/restmapping/operator/pkg/rest"
)

func ranges(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func TestWhichAddressesAreRefused(t *testing.T) {
	t.Parallel()
	api := RefusedRange{netip.MustParsePrefix("10.96.0.1/32"), "the Kubernetes API server"}
	cases := map[string]struct {
		allowed []netip.Prefix
		refused bool
	}{
		"127.0.0.1":                  {nil, true},
		"127.255.0.9":                {nil, true},
		"0.0.0.0":                    {nil, true},
		"0.1.2.3":                    {nil, true},
		"169.254.169.254":            {nil, true},
		"169.254.170.2":              {nil, true},
		"100.100.100.200":            {nil, true},
		"168.63.129.16":              {nil, true},
		"192.0.0.192":                {nil, true},
		"224.0.0.1":                  {nil, true},
		"255.255.255.255":            {nil, true},
		"::":                         {nil, true},
		"::1":                        {nil, true},
		"fe80::1":                    {nil, true},
		"fe80::1%eth0":               {nil, true},
		"fd00:ec2::254":              {nil, true},
		"fd20:ce::254":               {nil, true},
		"ff02::1":                    {nil, true},
		"::ffff:127.0.0.1":           {nil, true},
		"::ffff:a9fe:a9fe":           {nil, true},
		"64:ff9b::a9fe:a9fe":         {nil, true},
		"2002:7f00:0001::":           {nil, true},
		"::7f00:1":                   {nil, true},
		"10.96.0.1":                  {nil, true},
		"::ffff:10.96.0.1":           {nil, true},
		"10.96.0.2":                  {nil, false},
		"10.0.0.7":                   {nil, false},
		"172.16.3.4":                 {nil, false},
		"192.168.1.1":                {nil, false},
		"100.64.0.1":                 {nil, false},
		"fd12:3456::1":               {nil, false},
		"93.184.216.34":              {nil, false},
		"2606:2800:220:1::":          {nil, false},
		"64:ff9b::5db8:d822":         {nil, false},
		"127.0.0.2":                  {ranges("127.0.0.2/32"), false},
		"127.0.0.3":                  {ranges("127.0.0.2/32"), true},
		"169.254.1.1":                {ranges("169.254.1.0/24"), false},
		"64:ff9b::7f00:2":            {ranges("127.0.0.0/8"), false},
		"::ffff:127.0.0.9":           {ranges("127.0.0.0/8"), false},
		"10.96.0.1%not-an-ipv4-zone": {nil, true},
	}
	for text, tc := range cases {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			address, err := netip.ParseAddr(text)
			if err != nil {
				address = netip.MustParseAddr(strings.SplitN(text, "%", 2)[0])
			}
			err = Addresses{Allowed: tc.allowed, Refused: []RefusedRange{api}}.check(address)
			refused := (*AddressNotAllowedError)(nil)
			if errors.As(err, &refused) != tc.refused || (err != nil) != tc.refused {
				t.Errorf("%v, want refused: %v", err, tc.refused)
			}
		})
	}
}

func TestARefusedAddressIsFoundEarlyWhereItIsWritten(t *testing.T) {
	t.Parallel()
	secret := NewSecret("x")
	token := &OAuth2{TokenURL: "http://169.254.169.254/token", ClientID: "x", ClientSecret: secret}
	cases := map[string]struct {
		config Config
		field  string
	}{
		"the base URL":           {Config{BaseURL: "http://127.0.0.1:8080/api"}, "baseURL"},
		"the base URL in IPv6":   {Config{BaseURL: "https://[::1]/api"}, "baseURL"},
		"behind a proxy":         {Config{BaseURL: "http://169.254.169.254", Proxy: &Proxy{URL: "http://proxy.example.com:3128"}}, "baseURL"},
		"the proxy":              {Config{BaseURL: "http://api.example.com", Proxy: &Proxy{URL: "http://127.0.0.1:3128"}}, "proxy.url"},
		"the token endpoint":     {Config{BaseURL: "http://api.example.com", Credential: Credential{OAuth2: token}}, "credential.oauth2.tokenURL"},
		"a range of its own":     {Config{BaseURL: "http://10.0.0.1", Addresses: Addresses{Refused: []RefusedRange{{netip.MustParsePrefix("10.0.0.0/8"), "nodes"}}}}, "baseURL"},
		"an allowed one is fine": {Config{BaseURL: "http://127.0.0.1", Addresses: Addresses{Allowed: loopback()}}, ""},
		"a private one is fine":  {Config{BaseURL: "http://10.0.0.1"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewClient(tc.config)
			wrong, address := (*ConfigError)(nil), (*AddressNotAllowedError)(nil)
			switch {
			case tc.field == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.field == "":
			case !errors.As(err, &wrong) || wrong.Field != tc.field || !errors.As(err, &address):
				t.Errorf("got %v, want a refusal of %s", err, tc.field)
			case !strings.Contains(err.Error(), "--allow-cidrs") || !strings.Contains(err.Error(), address.Range.String()):
				t.Errorf("no remedy or range in %q", err)
			}
		})
	}
}

// A name is judged by the address that is connected to, whatever other looks at it said before.
func TestANameThatLeadsToARefusedAddressIsNotConnectedTo(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	base := serve(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	_, port, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/api"))
	if err != nil {
		t.Fatal(err)
	}
	names := newRebinder(t, "10.255.255.1", "127.0.0.1")
	client, err := NewClient(Config{BaseURL: "http://api.example.com:" + port + "/api"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	names.into(client)
	for _, req := range []rest.Request{get("/x"), write(http.MethodPost, "/x", "{}")} {
		names.answer.Store(1) // a check before would have seen the harmless address
		failure := wantFailure(t, client.Do(t.Context(), req), rest.NotSent, "baseURL: it leads to 127.0.0.1, in 127.0.0.0/8 (loopback)", "--allow-cidrs")
		if failure.Held != rest.HeldByAddress {
			t.Errorf("held by %q", failure.Held)
		}
	}
	if reached.Load() != 0 {
		t.Errorf("the server was reached %d times", reached.Load())
	}
	if names.asked.Load() == 0 {
		t.Error("the name was never looked up")
	}
}

// rebinder is a name server whose answer changes.
type rebinder struct {
	conn      net.PacketConn
	addresses []netip.Addr
	answer    atomic.Int32
	asked     atomic.Int32
}

func newRebinder(t *testing.T, addresses ...string) *rebinder {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rebinder{conn: conn}
	for _, text := range addresses {
		r.addresses = append(r.addresses, netip.MustParseAddr(text))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.serve()
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return r
}

func (r *rebinder) serve() {
	buffer := make([]byte, 1500)
	for {
		n, from, err := r.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var query dnsmessage.Message
		if query.Unpack(buffer[:n]) != nil || len(query.Questions) != 1 {
			continue
		}
		r.asked.Add(1)
		reply := dnsmessage.Message{Header: dnsmessage.Header{ID: query.ID, Response: true, RecursionAvailable: true}, Questions: query.Questions}
		if q := query.Questions[0]; q.Type == dnsmessage.TypeA {
			reply.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: r.addresses[r.answer.Load()].As4()},
			}}
		}
		if packed, err := reply.Pack(); err == nil {
			_, _ = r.conn.WriteTo(packed, from)
		}
	}
}

// into makes a client look names up here.
func (r *rebinder) into(c *Client) {
	c.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", r.conn.LocalAddr().String())
	}}
}

func TestAProxyAtARefusedAddressIsNotConnectedTo(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(g.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "socks5"} {
		for _, base := range []string{"http://api.example.com", "https://api.example.com"} {
			client, err := NewClient(Config{BaseURL: base, Proxy: &Proxy{URL: scheme + "://localhost:" + port}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.Close)
			wantFailure(t, client.Do(t.Context(), get("/x")), rest.NotSent, "proxy.url: it leads to", "(loopback)")
		}
	}
	if len(g.seen) != 0 {
		t.Errorf("the proxy saw %v", g.seen)
	}
}
