package child

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"
	"k8s.io/client-go/rest"
)

// A peer that died without closing its connection is noticed after pingAfter + pingTimeout of silence: a removal that then runs must not
// hang on it. client-go's own values are 30 s and 15 s, and only to be changed for the whole process.
const (
	pingAfter   = 2 * time.Second
	pingTimeout = 2 * time.Second
	dialTimeout = 2 * time.Second
)

// httpClient is a client of its own for one child cluster: connections are not shared with any other, and the environment's proxies are
// not asked.
func httpClient(config *rest.Config) (*http.Client, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, refused("its certificates do not parse: %s", err)
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	transport := &http.Transport{
		TLSClientConfig:     tlsConfig,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: dialTimeout,
	}
	h2, err := http2.ConfigureTransports(transport)
	if err != nil {
		return nil, fmt.Errorf("setting up HTTP/2: %w", err)
	}
	h2.ReadIdleTimeout, h2.PingTimeout = pingAfter, pingTimeout
	authenticated, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		return nil, fmt.Errorf("setting up authentication: %w", err)
	}
	return &http.Client{
		Transport: bounded{authenticated},
		// A tenant's API server must not send the controller, with its credential, to another address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}
